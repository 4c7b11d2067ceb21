// @ts-check
// The facts of the link in words, for people who see a film and do not know how slow and how long the link is.

import { rate } from "./words.js";

/** @param {import("./types.js").Arm["scenario"]} scenario */
function factsOf({ rate_bit_s, rate_steps, trace, delay_ns, delay_up_ns, queue_packets, queue_bytes }) {
  const long = rate_bit_s == null ? "unlimited" : rate(Number(rate_bit_s));
  const varies = trace ? "on average " : rate_steps ? "at first " : "";
  const roundTripMs = (Number(delay_ns) + Number(delay_up_ns)) / 1e6;
  const queue = queue_bytes == null ? Number(queue_packets).toLocaleString("en") : `${Number(queue_bytes).toLocaleString("en")} bytes`;
  return { "": `${varies}${long}`, "round trip": `${Number(roundTripMs.toFixed(1))} ms`, queue };
}

/** Returns rate, round-trip time and queue; what differs between the arms is given for both. @param {readonly import("./types.js").Shown[]} arms */
export function linkFacts(arms) {
  const [above, below] = arms.map(({ arm }) => Object.entries(factsOf(arm.scenario)));
  const said = above?.map(([name, value], index) => {
    const other = below?.[index][1] ?? value;
    return `${name} ${value}${other === value ? (name === "queue" && !value.endsWith("bytes") ? " packets" : "") : ` above, ${other} below`}`.trim();
  });
  return said ? `link: ${said.join(", ")}` : "";
}
