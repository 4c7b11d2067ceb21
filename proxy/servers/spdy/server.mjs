/**
 * A front that uses SPDY/3.1 with clients that choose it by ALPN, and HTTP/1.1 with other clients and with the origin.
 *
 *   node server.mjs CONFIG        CONFIG: spdy.json with its placeholders filled in
 *   node server.mjs --version     prints the versions of the npm packages
 *
 * Rules:
 * 1. The npm package spdy-transport does framing, windows and header blocks. It also orders the streams, unless the
 *    setting `order` is "strict": then strict.mjs orders them.
 * 2. The package is not part of this repository: the setting `modules` is the folder where it is installed.
 * 3. If the setting `buffering` is true, the front reads whole responses from the origin and holds them. Otherwise it
 *    reads no more of a response than the stream accepts.
 * 4. Request bodies are ignored, because the lab's clients send none.
 */

import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import tls from "node:tls";
import { orderStrictly } from "./strict.mjs";

const SPDY = "spdy/3.1";
const DAY_MS = 86_400_000; // a slow link must not look like a dead client
const OF_A_CONNECTION = ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding"];

if (process.argv[2] === "--version") {
  const { dependencies } = JSON.parse(fs.readFileSync(new URL("package.json", import.meta.url)));
  for (const [name, version] of Object.entries(dependencies)) console.log(name, version);
  process.exit(0);
}

const config = JSON.parse(fs.readFileSync(process.argv[2]));
const transport = createRequire(`${config.modules}/`)("spdy-transport");
const agent = new http.Agent({ keepAlive: true });

function complain(error) {
  fs.appendFileSync(config.log, `${new Date().toISOString()} ${error.stack}\n`);
}

function withoutConnection(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_A_CONNECTION.includes(name)));
}

/** Requests a resource from the origin; calls `answered` with the response, or `failed` with an error. */
function ask({ method, path, host, headers }, answered, failed) {
  const [name, port] = config.origin.split(":");
  const asked = http.request({ agent, host: name, port, method, path, headers: { ...headers, host } }, answered);
  asked.on("error", failed);
  asked.end();
}

function pass(answer, sink) {
  if (!config.buffering) return answer.pipe(sink);
  answer.on("data", (piece) => sink.write(piece));
  return answer.on("end", () => sink.end());
}

/** Answers a SPDY stream. */
function serve(stream) {
  stream.on("error", complain);
  stream.resume();
  const own = Object.entries(stream.headers).filter(([name]) => !name.startsWith(":"));
  ask(
    { ...stream, host: stream.host, headers: withoutConnection(Object.fromEntries(own)) },
    (answer) => {
      stream.respond(answer.statusCode, withoutConnection(answer.headers));
      pass(answer, stream);
    },
    (error) => {
      complain(error);
      stream.respond(502, {});
      stream.end();
    },
  );
}

/** Answers HTTP/1.1 requests, such as those of the readiness check. */
const plain = http.createServer((request, response) => {
  ask(
    { method: request.method, path: request.url, host: request.headers.host, headers: withoutConnection(request.headers) },
    (answer) => {
      response.writeHead(answer.statusCode, withoutConnection(answer.headers));
      pass(answer, response);
    },
    (error) => {
      complain(error);
      response.writeHead(502).end();
    },
  );
});

const server = tls.createServer(
  {
    cert: fs.readFileSync(config.certificate),
    key: fs.readFileSync(config.key),
    ALPNProtocols: [SPDY, "http/1.1"],
    handshakeTimeout: DAY_MS,
  },
  (socket) => {
    if (socket.alpnProtocol !== SPDY) return plain.emit("connection", socket);
    socket.setNoDelay(true);
    const connection = transport.connection.create(socket, { protocol: "spdy", isServer: true });
    connection.on("error", (error) => {
      complain(error);
      socket.destroy();
    });
    if (config.order === "strict") orderStrictly(connection);
    connection.on("stream", serve);
    return connection.start(3.1);
  },
);
server.on("tlsClientError", complain);
server.on("error", (error) => {
  console.error(`front: cannot listen on ${config.address}:${config.port}: ${error.message}`);
  process.exit(1);
});
server.listen(config.port, config.address);
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
