/**
 * Waits until the origin on this machine answers, and prints the answer, which describes the origin's clock.
 * The exit code is 0 when the origin has answered, and 1 if it does not answer within SECONDS.
 *
 *   node ready.mjs [SECONDS]     SECONDS is 1 by default; environment variables HOST and PORT as for origin.mjs
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
