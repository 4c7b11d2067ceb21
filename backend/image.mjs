/**
 * Makes the pages' pictures: map.jpg, a progressive JPEG of less than 2 KiB, padded to an exact size.
 *
 * The padding consists of COM segments (ITU-T T.81, B.2.4.5), which every decoder skips. An equal part of the padding
 * precedes each scan, so that the picture sharpens while its bytes arrive. Pictures of equal size have equal bytes on
 * every machine.
 */

import fs from "node:fs";

const MAP = fs.readFileSync(new URL("map.jpg", import.meta.url));
const START_OF_SCAN = Buffer.from([0xff, 0xda]);
const COMMENT = [0xff, 0xfe];
const LARGEST_SEGMENT_BYTES = 2 + 65_535;
const SMALLEST_BYTES = 2048;

function scans() {
  const found = [];
  for (let at = MAP.indexOf(START_OF_SCAN); at >= 0; at = MAP.indexOf(START_OF_SCAN, at + 1)) found.push(at);
  return found;
}

/** Makes COM segments of `size` bytes in total; `size` is at least 4. */
function padding(size) {
  const parts = [];
  for (let left = size, take; left > 0; left -= take) {
    take = Math.min(left, LARGEST_SEGMENT_BYTES);
    if (left > take && left - take < 4) take -= 4;
    const length = take - 2;
    parts.push(Buffer.from([...COMMENT, length >> 8, length & 0xff]), Buffer.alloc(take - 4, " "));
  }
  return Buffer.concat(parts);
}

/**
 * Makes a JPEG of exactly `size` bytes; `size` is at least 2048.
 * @param {number} size
 * @returns {Buffer}
 */
export function imageOfSize(size) {
  if (!Number.isInteger(size) || size < SMALLEST_BYTES)
    throw new RangeError(`an image of ${size} bytes; allowed: a whole number from ${SMALLEST_BYTES}`);
  const parts = [];
  let [from, left] = [0, size - MAP.length];
  scans().forEach((at, index, all) => {
    const share = Math.floor(left / (all.length - index));
    parts.push(MAP.subarray(from, at), padding(share));
    [from, left] = [at, left - share];
  });
  return Buffer.concat([...parts, MAP.subarray(from)]);
}
