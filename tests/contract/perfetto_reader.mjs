/**
 * Perfetto's own trace processor, asked in SQL about a trace:  node perfetto_reader.mjs FOLDER TRACE STATEMENT...
 *
 * Prints a JSON array with the rows of each statement. FOLDER holds Perfetto's engine as it is served to browsers:
 * WebAssembly, and a script that runs in a web worker. This file provides the parts of a web worker that the script
 * uses. Messages to the engine are protocol buffers (perfetto/trace_processor.proto).
 */

import { webcrypto as crypto } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [APPEND, FINALIZE, QUERY] = [1, 2, 3]; // TraceProcessorMethod
const [APPEND_DATA, QUERY_ARGS, QUERY_RESULT] = [101, 103, 203]; // fields of TraceProcessorRpc
const [NULL, VARINT, FLOAT64, STRING] = [1, 2, 3, 4]; // CellType

function varint(number) {
  const made = [];
  for (; number > 127; number = Math.floor(number / 128)) made.push((number % 128) + 128);
  return Buffer.from([...made, number]);
}

const field = (number, content) =>
  typeof content === "number"
    ? Buffer.concat([varint(number * 8), varint(content)])
    : Buffer.concat([varint(number * 8 + 2), varint(content.length), content]);

/** Reads a signed 64-bit varint at the cursor. */
function takeVarint(cursor) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = cursor.data[cursor.at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return Number(BigInt.asIntN(64, value));
  }
}

/** Yields [number, value] of each field. The value is a number or a buffer. */
function* fields(data) {
  const cursor = { data, at: 0 };
  while (cursor.at < data.length) {
    const tag = takeVarint(cursor);
    let value = takeVarint(cursor);
    if (tag % 8 === 2) {
      value = data.subarray(cursor.at, cursor.at + value);
      cursor.at += value.length;
    }
    yield [Math.floor(tag / 8), value];
  }
}

function varints(data) {
  const cursor = { data, at: 0 };
  const made = [];
  while (cursor.at < data.length) made.push(takeVarint(cursor));
  return made;
}

/** Returns the rows in the QueryResult messages that answer a statement. */
function rowsOf(results) {
  const names = [];
  const values = [];
  for (const result of results) {
    for (const [number, value] of fields(result)) {
      if (number === 1) names.push(value.toString());
      if (number === 2 && value.length) throw new Error(value.toString());
      if (number === 3) values.push(...cellsOf(Object.fromEntries(fields(value))));
    }
  }
  const rows = [];
  for (let at = 0; at < values.length; at += names.length) {
    rows.push(Object.fromEntries(names.map((name, index) => [name, values[at + index]])));
  }
  return rows;
}

function cellsOf(batch) {
  const nothing = Buffer.alloc(0);
  const whole = varints(batch[2] ?? nothing);
  const floats = batch[3] ?? nothing;
  const strings = (batch[5] ?? nothing).toString().split("\0");
  let float = 0;
  const take = {
    [NULL]: () => null,
    [VARINT]: () => whole.shift(),
    [FLOAT64]: () => floats.readDoubleLE(8 * float++),
    [STRING]: () => strings.shift(),
  };
  return varints(batch[1] ?? nothing).map((kind) => take[kind]());
}

const [folder, trace, ...statements] = process.argv.slice(2);
const said = [];
const worker = vm.createContext({
  console: { log() {}, warn: (line) => said.push(line), error: (line) => said.push(line) },
  URL,
  TextDecoder,
  TextEncoder,
  performance,
  setTimeout,
  crypto,
  location: { href: "http://reader.invalid/" },
  WorkerGlobalScope: class {},
  XMLHttpRequest: class {
    open(_, name) {
      this.file = path.join(folder, path.basename(name));
    }
    send() {
      this.response = toWorker(fs.readFileSync(this.file)).buffer;
    }
  },
});
worker.self = worker;
const Uint8ArrayThere = vm.runInContext("Uint8Array", worker);
const toWorker = (data) => new Uint8ArrayThere(data);

let answers = [];
const port = {
  postMessage(reply) {
    for (const [, message] of fields(Buffer.from(reply))) {
      answers.push(...[...fields(message)].filter(([number]) => number === QUERY_RESULT).map(([, value]) => value));
    }
  },
};
let sequence = 0;
function ask(method, ...more) {
  answers = [];
  const message = Buffer.concat([field(1, ++sequence), field(2, method), ...more]);
  port.onmessage({ data: toWorker(field(1, message)) });
  return answers;
}

vm.runInContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), worker);
setTimeout(() => {
  worker.onmessage({ data: port });
  try {
    ask(APPEND, field(APPEND_DATA, fs.readFileSync(trace)));
    ask(FINALIZE);
    const found = statements.map((sql) => rowsOf(ask(QUERY, field(QUERY_ARGS, field(1, Buffer.from(sql))))));
    process.stdout.write(JSON.stringify(found));
  } catch (error) {
    process.stderr.write(`${[...said.slice(-5), error].join("\n")}\n`);
    process.exitCode = 1;
  }
}, 0);
