/**
 * A front that uses Node's own HTTP/2 (node:http2), and HTTP/1.1 with the origin.
 *
 *   node server.mjs CONFIG        CONFIG: node.json with its placeholders filled in
 *
 * Rules:
 * 1. Node does framing, windows and the order of the streams. This program only passes responses on.
 * 2. If the setting `buffering` is true, the front reads whole responses from the origin and holds them. Otherwise it
 *    reads no more of a response than the stream accepts.
 * 3. Request bodies are ignored, because the lab's clients send none.
 */

import fs from "node:fs";
import http from "node:http";
import http2 from "node:http2";

const OF_A_CONNECTION = ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding"];

const config = JSON.parse(fs.readFileSync(process.argv[2]));
const [host, port] = config.origin.split(":");
const agent = new http.Agent({ keepAlive: true });

function complain(error) {
  fs.appendFileSync(config.log, `${new Date().toISOString()} ${error.stack}\n`);
}

function passedOn(headers) {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.startsWith(":") && !OF_A_CONNECTION.includes(name)),
  );
}

function pass(answer, response) {
  if (!config.buffering) return answer.pipe(response);
  answer.on("data", (piece) => response.write(piece));
  return answer.on("end", () => response.end());
}

/** Answers a request of HTTP/2, or of HTTP/1.1 as the readiness check sends it. */
function serve(request, response) {
  const { method, url, headers } = request;
  const name = headers[":authority"] ?? headers.host;
  response.on("error", complain);
  request.resume(); // otherwise Node may reset a stream before the end of its response
  const asked = http.request({ agent, host, port, method, path: url, headers: { ...passedOn(headers), host: name } });
  asked.on("response", (answer) => {
    answer.on("error", complain);
    response.writeHead(answer.statusCode, passedOn(answer.headers));
    pass(answer, response);
  });
  asked.on("error", (error) => {
    complain(error);
    if (response.headersSent) return response.destroy();
    return response.writeHead(502).end();
  });
  asked.end();
}

const server = http2.createSecureServer(
  {
    allowHTTP1: true,
    cert: fs.readFileSync(config.certificate),
    key: fs.readFileSync(config.key),
    handshakeTimeout: 86_400_000, // a slow link must not look like a dead client
    unknownProtocolTimeout: 86_400_000,
  },
  serve,
);
server.setTimeout(0);
if (config.record_bytes) server.on("secureConnection", (socket) => socket.setMaxSendFragment(config.record_bytes));
server.on("tlsClientError", complain);
server.on("sessionError", complain);
server.on("error", (error) => {
  console.error(`front: cannot listen on ${config.address}:${config.port}: ${error.message}`);
  process.exit(1);
});
server.listen(config.port, config.address);
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
