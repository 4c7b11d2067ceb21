/**
 * The origin of the lab. Environment in, HTTP/1.1 out, one JSON line a request:
 *
 *   HOST, PORT      where to listen                                  127.0.0.1, 8080
 *   SIZE            bytes of the image and of the script             716800
 *   JS_DELAY_MS     how long the script is held back, milliseconds   200
 *   ACCESS_LOG      file of the log lines                            standard output
 *
 * Log times are nanoseconds of CLOCK_MONOTONIC: `received_ns` when the request's headers were parsed,
 * `available_ns` when the response was there to be written, `handed_over_ns` when its last byte was with the kernel.
 */

import fs from "node:fs";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { imageOfSize } from "./image.mjs";
import { resources } from "./page.mjs";

function fromEnvironment(name, fallback, least, most) {
  const text = process.env[name] ?? String(fallback);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    console.error(`origin: ${name}=${text}; allowed: a whole number from ${least} to ${most}`);
    process.exit(2);
  }
  return value;
}

const host = process.env.HOST ?? "127.0.0.1";
const port = fromEnvironment("PORT", 8080, 0, 65535);
const size = fromEnvironment("SIZE", 700 * 1024, 2048, 2 ** 30);
const scriptDelayMs = fromEnvironment("JS_DELAY_MS", 200, 0, 2 ** 31 - 1);
const log = process.env.ACCESS_LOG ? fs.openSync(process.env.ACCESS_LOG, "a") : 1;

const served = resources({ image: imageOfSize(size), scriptDelayMs });
const nanoseconds = () => Number(process.hrtime.bigint());

/** Not before: Node's timers count whole milliseconds of a clock that it reads once a turn, and may be early by one. */
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

// A connection the front keeps between page loads must outlive a slow load.
const server = http.createServer({ keepAliveTimeout: 3_600_000, requestTimeout: 0 }, answer);
server.on("error", (error) => {
  console.error(`origin: cannot listen on ${host}:${port}: ${error.message}`);
  process.exit(1);
});
server.listen(port, host, () => console.error(`origin: listening on ${host}:${server.address().port}`));
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
