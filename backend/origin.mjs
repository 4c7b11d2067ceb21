/**
 * The origin server of the lab: serves a page over HTTP/1.1 and logs each request as a JSON line. Environment:
 *
 *   HOST, PORT      address and port to listen on                       default: 127.0.0.1, 8080
 *   PAGE            the file of the page, relative to this folder       default: maps.json
 *   ACCESS_LOG      the file for the log lines                          default: standard output
 *
 * Times in the log are nanoseconds of CLOCK_MONOTONIC. `received_ns`: when the request's headers had been parsed.
 * `headers_ns`, only if the headers precede the first byte: when they were written. `available_ns`: when the response, or its first chunk, could be written. `handed_over_ns`: when the kernel had the
 * response's last byte.
 */

import fs from "node:fs";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { pageIn, resources } from "./page.mjs";

function fromEnvironment(name, fallback, least, most) {
  const text = process.env[name] ?? String(fallback);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    console.error(`origin: ${name}=${text}; allowed: a whole number from ${least} to ${most}`);
    process.exit(2);
  }
  return value;
}

function readPage(file) {
  try {
    return pageIn(file);
  } catch (error) {
    console.error(`origin: PAGE=${file}: ${error.message}`);
    process.exit(2);
  }
}

const host = process.env.HOST ?? "127.0.0.1";
const port = fromEnvironment("PORT", 8080, 0, 65535);
const log = process.env.ACCESS_LOG ? fs.openSync(process.env.ACCESS_LOG, "a") : 1;

const served = resources(readPage(process.env.PAGE ?? "maps.json"));
const nanoseconds = () => Number(process.hrtime.bigint());

/** Waits until atNs, never shorter: Node's timers count whole milliseconds and may fire a millisecond early. */
async function until(atNs) {
  for (let left = atNs - nanoseconds(); left > 0; left = atNs - nanoseconds()) await sleep(Math.ceil(left / 1e6));
}

async function answer(request, response) {
  const entry = { method: request.method, path: request.url, received_ns: nanoseconds() };
  response.on("close", () => {
    entry.aborted = !response.writableFinished;
    fs.writeSync(log, JSON.stringify(entry) + "\n");
  });
  response.on("finish", () => (entry.handed_over_ns = nanoseconds()));
  const resource = served.get(request.url);
  const readable = request.method === "GET" || request.method === "HEAD";
  if (resource?.delayMs && readable) await until(entry.received_ns + resource.delayMs * 1e6);
  entry.available_ns = nanoseconds();
  if (!readable) entry.status = 405;
  else entry.status = resource ? 200 : 404;
  const body = resource?.body ?? Buffer.from("not found\n");
  response.writeHead(entry.status, {
    "content-type": resource?.type ?? "text/plain",
    "content-length": entry.status === 405 ? 0 : body.length,
    "cache-control": "no-store",
  });
  response.end(entry.status === 405 || request.method === "HEAD" ? undefined : body);
}

/** Answers a request with pieces, each of which is written at its own time; the headers may precede the first piece. */
async function trickle(request, response) {
  const entry = { method: request.method, path: request.url, received_ns: nanoseconds() };
  response.on("close", () => {
    entry.aborted = !response.writableFinished;
    fs.writeSync(log, JSON.stringify(entry) + "\n");
  });
  response.on("finish", () => (entry.handed_over_ns = nanoseconds()));
  const { body, type, pieces, headersNs, isUnbuffered } = served.get(request.url);
  // Fronts that know X-Accel-Buffering pass each chunk on at once.
  const unbuffered = { "cache-control": "no-store", ...(isUnbuffered && { "x-accel-buffering": "no" }) };
  const fields = { "content-type": type, "content-length": body.length, ...unbuffered };
  entry.status = 200;
  if (headersNs !== undefined) {
    await until(entry.received_ns + headersNs);
    if (response.destroyed) return;
    entry.headers_ns = nanoseconds();
    response.writeHead(entry.status, fields);
    response.flushHeaders();
  }
  for (const [atNs, piece] of pieces) {
    await until(entry.received_ns + atNs);
    if (response.destroyed) return;
    entry.available_ns ??= nanoseconds();
    if (!response.headersSent) response.writeHead(entry.status, fields);
    response.write(piece);
  }
  response.end();
}

const comesInPieces = ({ method, url }) => method === "GET" && served.get(url)?.pieces;
const isInPieces = [...served.values()].some(({ pieces }) => pieces);
const plain = isInPieces ? (...both) => (comesInPieces(both[0]) ? trickle(...both) : answer(...both)) : answer;
let fillers = 0;

/** Answers with the resource's further header fields. The filler differs each time, so no table of HPACK or QPACK has it.
 *
 * Their Huffman code makes `~` longer, so the value goes over the wire as it is.
 */
function filled(request, response) {
  const { fillerBytes, priority } = served.get(request.url) ?? {};
  if (priority) response.setHeader("priority", priority);
  if (fillerBytes) response.setHeader("x-filler", `${++fillers}`.padEnd(fillerBytes, "~").slice(0, fillerBytes));
  return plain(request, response);
}

const hasFields = [...served.values()].some(({ fillerBytes, priority }) => fillerBytes || priority);
const listener = hasFields ? filled : plain;

// The front keeps its connection to the origin between page loads, so the connection must outlive a slow load.
const server = http.createServer({ keepAliveTimeout: 3_600_000, requestTimeout: 0 }, listener);
server.on("error", (error) => {
  console.error(`origin: cannot listen on ${host}:${port}: ${error.message}`);
  process.exit(1);
});
server.listen(port, host, () => console.error(`origin: listening on ${host}:${server.address().port}`));
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
