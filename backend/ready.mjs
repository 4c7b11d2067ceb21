/**
 * Waits until the origin on this machine answers: exits with 0 then, with 1 after SECONDS without an answer.
 * Prints the answer: the quality of the origin's clock.
 *
 *   node ready.mjs [SECONDS]     1 by default; HOST and PORT as for origin.mjs
 */

import { setTimeout as sleep } from "node:timers/promises";

const host = process.env.HOST && process.env.HOST !== "0.0.0.0" ? process.env.HOST : "127.0.0.1";
const address = `http://${host}:${process.env.PORT ?? 8080}/ready`;
const end = Date.now() + 1000 * Number(process.argv[2] ?? 1);

async function reasonAgainst() {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(1000) });
    if (!response.ok) return `status ${response.status}`;
    process.stdout.write(await response.text());
    return null;
  } catch (error) {
    return error.cause?.message ?? error.message;
  }
}

let reason = await reasonAgainst();
while (reason && Date.now() < end) {
  await sleep(100);
  reason = await reasonAgainst();
}
if (reason) console.error(`origin: not ready at ${address}: ${reason}`);
process.exit(reason ? 1 : 0);
