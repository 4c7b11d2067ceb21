/**
 * Measures resolution and read cost of Node's clock, process.hrtime.bigint(), by reading it.
 *
 *   node clock.mjs     prints both figures as JSON; the origin's answer to /ready contains them, too
 *
 * No loop waits for the clock to move, because in a guest time stands still while a program computes.
 * common/clock_quality.py does the same for Python and explains the method.
 */

import fs from "node:fs";
import { pathToFileURL } from "node:url";

const SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const READS = 100;
const BATCHES = 4;
const COUNTABLE = 10;
const NAPS = 3;
const LONGEST_NAP_MS = 50;

/** Returns the differences between consecutive reads of the clock. */
function steps() {
  const reads = new BigInt64Array(READS);
  for (let i = 0; i < READS; i++) reads[i] = process.hrtime.bigint();
  return Array.from(reads.subarray(1), (later, i) => Number(later - reads[i]));
}

/** Returns the smallest step seen during longer and longer sleeps; null if the clock never moved. */
function stepAsleep() {
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const seen = [];
  for (let i = 0; i < NAPS; i++) {
    const before = process.hrtime.bigint();
    for (let milliseconds = 0.001; milliseconds <= LONGEST_NAP_MS; milliseconds *= 2) {
      Atomics.wait(nap, 0, 0, milliseconds);
      const step = Number(process.hrtime.bigint() - before);
      if (step) {
        seen.push(step);
        break;
      }
    }
  }
  return seen.length ? Math.min(...seen) : null;
}

/** Returns source, resolution_ns and read_cost_ns. `reasons` explains, by name, each value that is null. */
export function describe() {
  const reasons = {};
  let source = null;
  try {
    source = fs.readFileSync(SOURCE, "utf8").trim();
  } catch (error) {
    reasons.source = error.message;
  }
  const batches = Array.from({ length: BATCHES }, steps);
  const moved = batches.flat().filter((step) => step);
  const resolution = moved.length ? Math.min(...moved) : stepAsleep();
  if (resolution === null) reasons.resolution_ns = "the clock was never seen to move";
  const costs = batches
    .filter((batch) => batch.filter((step) => step).length >= COUNTABLE)
    .map((batch) => batch.reduce((sum, step) => sum + step) / batch.length);
  const cost = costs.length ? Math.round(Math.min(...costs) * 10) / 10 : null;
  if (cost === null) reasons.read_cost_ns = "the clock is too coarse to measure the time of a read";
  return { source, resolution_ns: resolution, read_cost_ns: cost, reasons };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) console.log(JSON.stringify(describe()));
