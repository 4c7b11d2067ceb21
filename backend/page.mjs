/** What the origin serves: the page and its two resources, made once at start. */

import { describe } from "./clock.mjs";

// The image stands before the script on purpose: document order works against the script, priority must win.
const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Priority lab</title>
<link rel="icon" href="data:,">
<style>
  body { font: 18px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222 }
  img { width: 100%; height: auto; background: #e8e8e8 }
  output { font-weight: bold }
</style>
<h1>Priority lab</h1>
<p>The script asks for a higher priority than the picture: <output id="script">waiting for the script</output></p>
<img src="/image.jpg" alt="A street map">
<script src="/script.js"></script>
</html>
`;

const PROGRAM = `document.getElementById("script").textContent =
  "the script ran " + (performance.now() / 1000).toFixed(2) + " s after the page was asked for";
`;

/** JavaScript of exactly `size` bytes: the program, then a comment. */
function scriptOfSize(size) {
  const [open, close] = ["/*", "*/\n"];
  const filler = size - PROGRAM.length - open.length - close.length;
  if (filler < 0) throw new RangeError(`a script of ${size} bytes; allowed: a whole number from ${size - filler}`);
  return Buffer.from(PROGRAM + open + " ".repeat(filler) + close);
}

/**
 * Resources by path.
 * @param {{image: Buffer, scriptDelayMs: number}} options the image, as large as the script is to be; delay in milliseconds
 */
export function resources({ image, scriptDelayMs }) {
  const script = "text/javascript; charset=utf-8";
  return new Map([
    ["/", { body: Buffer.from(HTML), type: "text/html; charset=utf-8", delayMs: 0 }],
    ["/image.jpg", { body: image, type: "image/jpeg", delayMs: 0 }],
    ["/script.js", { body: scriptOfSize(image.length), type: script, delayMs: scriptDelayMs }],
    ["/ready", { body: Buffer.from(JSON.stringify({ clock: describe() }) + "\n"), type: "application/json", delayMs: 0 }],
  ]);
}
