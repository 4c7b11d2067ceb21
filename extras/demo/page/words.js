// @ts-check
// Formats numbers for people, as `priolab show` does, and reads those of LOWAT.

/** Bytes of a value of LOWAT; none has no limit. Returns null for a value that is no number of bytes. @param {string} value */
export function bytesOf(value) {
  if (value === "none") return Infinity;
  const found = /^(\d+)([KMG]?)$/i.exec(value);
  return found ? Number(found[1]) * 1024 ** ["", "K", "M", "G"].indexOf(found[2].toUpperCase()) : null;
}

/** @param {number | null} ms */
export function seconds(ms) {
  if (ms === null) return "–";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

/** Formats a difference for people who sit far away. @param {number} ms */
export function gap(ms) {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

const WHOLE = new Intl.NumberFormat("en");

/** @param {number | null} bytes */
export function kib(bytes) {
  return bytes === null ? "–" : `${WHOLE.format(Math.round(bytes / 1024))} KiB`;
}

/** Formats a number of bytes in a drawing, where there is little space. @param {number} bytes */
export function size(bytes) {
  const mib = bytes / 1024 ** 2;
  return bytes < 1000 * 1024 ? kib(bytes) : `${mib.toFixed(mib < 10 ? 1 : 0)} MiB`;
}

/** @param {number} speed */
export function times(speed) {
  return `${speed < 1 ? speed.toFixed(1) : speed < 10 ? Number(speed.toFixed(1)) : Math.round(speed)}×`;
}

/** Ends a text with a full stop, unless it is empty or has an end. @param {string} text */
export function sentence(text) {
  return !text || /[.!?…]$/.test(text) ? text : `${text}.`;
}

const FRACTIONS = new Map([[0.1, "a tenth of real time"], [0.5, "half of real time"], [1, "real time"], [2, "twice real time"]]);

/** A film's speed in words, for people who cannot know that a film is slow. @param {number} speed */
export function pace(speed) {
  return FRACTIONS.get(Number(speed.toFixed(2))) ?? `${Number(speed.toPrecision(2))} times real time`;
}

/** A link's rate: in kilobytes as tc's kbps, and from eight megabits a second in megabits. @param {number} bitS bits per second */
export function rate(bitS) {
  return bitS < 8e6 ? `${Number((bitS / 8000).toFixed(1))} kB/s` : `${Number((bitS / 1e6).toFixed(1))} Mbit/s`;
}

/** The width of a letter, as a part of the text's size. */
export const LETTER = 0.58;
export const BOLD = 0.66;
