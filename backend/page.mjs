/**
 * Makes the responses that the origin serves, the resources of a page, once at start.
 *
 * A page is a JSON document; common/formats/page.py declares it. Each response has exactly the size that the page
 * says. An HTML document has a tag for each resource that waits for the document, in the page's order. Resources that
 * wait for another resource, or have no tag, are fetched by a script in the document.
 */

import fs from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe } from "./clock.mjs";
import { imageOfSize } from "./image.mjs";

const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Priority lab</title>
<link rel="icon" href="data:,">
<style>
  body { font: 18px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem }
  img { width: 100%; height: auto; background: #e8e8e8 }
</style>
<h1>Priority lab</h1>
`;

const PROGRAM = `document.currentScript.dataset.ran = 1;
document.getElementById("script").textContent =
  "the script ran " + (performance.now() / 1000).toFixed(2) + " s after the page was asked for";
`;

/** Returns the tag that makes a browser request a resource; null if there is no tag for the resource's type. */
function tag({ path, content_type: type, fetchpriority }) {
  const hint = fetchpriority ? ` fetchpriority="${fetchpriority}"` : "";
  if (type.startsWith("image/")) return `<img src="${path}" alt="${path}"${hint}>\n`;
  if (type.startsWith("text/javascript")) return `<script src="${path}"${hint}></script>\n`;
  if (type.startsWith("text/css")) return `<link rel="stylesheet" href="${path}"${hint}>\n`;
  return null;
}

/** Returns a script that fetches resources.
 *
 * A resource that waits for the document is fetched at once. A resource that waits for another fetched resource is
 * fetched after that resource. Every other resource is fetched after the page's load event.
 */
function fetching(resources, document) {
  if (!resources.length) return "";
  const asked = resources.map(({ name, path, after, important, fetchpriority }) =>
    [name, path, after, fetchpriority ?? (important ? "high" : "low")]);
  return `<script>
const done = {};
window.fetched = Promise.all(${JSON.stringify(asked)}.map(([name, path, after, priority]) =>
  done[name] = (after === ${JSON.stringify(document)} ? Promise.resolve() : done[after] ?? loaded()).then(() =>
    fetch(path, { priority })).then((response) => response.arrayBuffer()).then((body) => body.byteLength)));
function loaded() { return new Promise((then) => addEventListener("load", then)); }
</script>
`;
}

/** Returns the HTML of a document, with the tags in the page's order. */
function html(document, page) {
  const waiting = page.resources.filter(({ after }) => after === document.name);
  const plain = page.resources.filter((each) => each.after !== null && (each.after !== document.name || !tag(each)));
  const hasScript = waiting.some(({ content_type: type }) => type.startsWith("text/javascript"));
  const output = `<p><output id="script">${hasScript ? "waiting for the script" : ""}</output></p>\n`;
  const tags = waiting.map(tag).filter((each) => each !== null);
  return HEAD + output + tags.join("") + fetching(plain, document.name) + "</html>\n";
}

/** Returns `text`, blanks and `end`, together `size` bytes. */
function padded(name, text, end, size) {
  const spare = size - Buffer.byteLength(text + end);
  if (spare < 0) throw new RangeError(`${name} of ${size} bytes; allowed: at least ${size - spare} bytes`);
  return Buffer.from(text + " ".repeat(spare) + end);
}

/** Returns the response body of a resource, which has exactly the resource's size. */
function body(resource, page) {
  const { name, content_type: type, size_bytes: size } = resource;
  if (type.startsWith("text/html")) return padded(name, html(resource, page), "", size);
  if (type.startsWith("text/javascript")) return padded(name, `${PROGRAM}/*`, "*/\n", size);
  if (type.startsWith("text/css")) return padded(name, "/*", "*/\n", size);
  if (type === "image/jpeg") return imageOfSize(size);
  return Buffer.alloc(size, ".");
}

/** Yields the chunks of a body: [nanoseconds after the request, bytes]. */
function* pieces(whole, chunks) {
  let from = 0;
  for (const { at_ns: at, size_bytes: size, every_ns: every, count } of chunks)
    for (let number = 0; number < count; number++, from += size)
      yield [at + number * every, whole.subarray(from, from + size)];
}

/** Reads a page from a file; `file` is relative to this folder. */
export function pageIn(file) {
  return JSON.parse(fs.readFileSync(resolve(dirname(fileURLToPath(import.meta.url)), file)));
}

/** Returns the resources by path: body, content type, and delay in milliseconds; with `header_bytes` also `fillerBytes`,
 * and with a field `priority` of the response also `priority`.
 *
 * A resource in chunks, or whose headers precede its first byte, also has `pieces`, and `headersNs` if its headers do.
 */
export function resources(page) {
  const made = page.resources.map((resource) => {
    const whole = body(resource, page);
    const { path, content_type: type, delay_ns: delayNs, headers_ns: headersNs, chunks } = resource;
    const found = { body: whole, type, delayMs: delayNs / 1e6 };
    if (resource.header_bytes) found.fillerBytes = resource.header_bytes;
    if (resource.cue?.answer) found.priority = resource.cue.answer;
    const inPieces = chunks.length ? { ...found, isUnbuffered: true, pieces: [...pieces(whole, chunks)] } : null;
    if (headersNs == null || headersNs >= (inPieces?.pieces[0][0] ?? delayNs)) return [path, inPieces ?? found];
    return [path, { ...(inPieces ?? { ...found, pieces: [[delayNs, whole]] }), headersNs }];
  });
  const ready = Buffer.from(JSON.stringify({ clock: describe() }) + "\n");
  return new Map([...made, ["/ready", { body: ready, type: "application/json", delayMs: 0 }]]);
}
