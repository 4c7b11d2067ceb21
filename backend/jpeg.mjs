/**
 * A baseline JPEG of an exact size: a street map with enough grain to need its bytes.
 *
 * Rules:
 * 1. The picture is honest: rows of blocks are encoded until the size is used up, and the height follows.
 *    Only the remainder, less than one row of blocks, is padding.
 * 2. Padding is a COM segment before the scan (ITU-T T.81, B.2.4.5); every decoder skips it.
 * 3. Deterministic: the same size gives the same bytes on every machine, so runs can be compared.
 *
 *   node jpeg.mjs SIZE     writes one to standard output
 */

import { pathToFileURL } from "node:url";

const ZIGZAG = [
  0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
  35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55,
  62, 63,
];

// The typical Huffman tables of ITU-T T.81, Annex K.3: how many codes of each length, then the symbols in order.
const DC_LENGTHS = [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0];
const DC_SYMBOLS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const AC_LENGTHS = [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125];
const AC_SYMBOLS = [
  ...Buffer.from(
    "01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a" +
      "3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495" +
      "969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9ea" +
      "f1f2f3f4f5f6f7f8f9fa",
    "hex",
  ),
];

const QUANTIZER = 6; // one step for every coefficient: even grain, about 4 bits per pixel
const END_OF_BLOCK = 0x00;
const SIXTEEN_ZEROS = 0xf0;
const SMALLEST_BYTES = 2048;

/** Code and length by symbol, built the canonical way (T.81, C.2). */
function huffmanTable(lengths, symbols) {
  const table = [];
  let code = 0;
  let next = 0;
  lengths.forEach((count, index) => {
    for (let i = 0; i < count; i++) table[symbols[next++]] = { code: code++, length: index + 1 };
    code <<= 1;
  });
  return table;
}

const DC_TABLE = huffmanTable(DC_LENGTHS, DC_SYMBOLS);
const AC_TABLE = huffmanTable(AC_LENGTHS, AC_SYMBOLS);

const COSINE = Float64Array.from({ length: 64 }, (_, i) => {
  const frequency = i >> 3;
  const scale = frequency === 0 ? Math.sqrt(1 / 8) : 1 / 2;
  return scale * Math.cos(((2 * (i & 7) + 1) * frequency * Math.PI) / 16);
});

/** Bits out, most significant first, with the zero byte that must follow every 0xff; can go back to a mark. */
class BitWriter {
  #bytes;
  #size = 0;
  #buffer = 0;
  #filled = 0;

  constructor(capacity) {
    this.#bytes = Buffer.alloc(capacity);
  }

  write({ code, length }) {
    this.#buffer = (this.#buffer << length) | (code & ((1 << length) - 1));
    this.#filled += length;
    for (; this.#filled >= 8; this.#filled -= 8) {
      const byte = (this.#buffer >> (this.#filled - 8)) & 0xff;
      this.#bytes[this.#size++] = byte;
      if (byte === 0xff) this.#bytes[this.#size++] = 0;
    }
    this.#buffer &= 0xff;
  }

  /** The bytes so far, the last one filled up with ones. */
  finished() {
    const spare = (8 - this.#filled) % 8;
    this.write({ code: (1 << spare) - 1, length: spare });
    return this.#bytes.subarray(0, this.#size);
  }

  get size() {
    return this.#size;
  }

  mark() {
    return { size: this.#size, buffer: this.#buffer, filled: this.#filled };
  }

  rewind({ size, buffer, filled }) {
    [this.#size, this.#buffer, this.#filled] = [size, buffer, filled];
  }
}

/** Magnitude category and the bits that follow it (T.81, F.1.2.1). */
function magnitude(value) {
  const length = 32 - Math.clz32(Math.abs(value));
  return { code: value < 0 ? value + (1 << length) - 1 : value, length };
}

const scratch = new Float64Array(64);
const quantized = new Int32Array(64);

/** The quantized DCT of a block, into `quantized`. */
function transform(block) {
  if (block.every((value) => value === block[0])) {
    quantized.fill(0);
    quantized[0] = Math.round((8 * block[0]) / QUANTIZER);
    return;
  }
  for (let y = 0; y < 8; y++)
    for (let u = 0; u < 8; u++) {
      let sum = 0;
      for (let x = 0; x < 8; x++) sum += block[y * 8 + x] * COSINE[u * 8 + x];
      scratch[y * 8 + u] = sum;
    }
  for (let v = 0; v < 8; v++)
    for (let u = 0; u < 8; u++) {
      let sum = 0;
      for (let y = 0; y < 8; y++) sum += scratch[y * 8 + u] * COSINE[v * 8 + y];
      quantized[v * 8 + u] = Math.round(sum / QUANTIZER);
    }
}

function encodeBlock(block, previousDc, bits) {
  transform(block);
  const difference = magnitude(quantized[0] - previousDc);
  bits.write(DC_TABLE[difference.length]);
  bits.write(difference);
  let zeros = 0;
  for (let i = 1; i < 64; i++) {
    const value = quantized[ZIGZAG[i]];
    if (value === 0) {
      zeros++;
      continue;
    }
    for (; zeros > 15; zeros -= 16) bits.write(AC_TABLE[SIXTEEN_ZEROS]);
    const bitsOfValue = magnitude(value);
    bits.write(AC_TABLE[(zeros << 4) | bitsOfValue.length]);
    bits.write(bitsOfValue);
    zeros = 0;
  }
  if (zeros > 0) bits.write(AC_TABLE[END_OF_BLOCK]);
  return quantized[0];
}

/** A repeatable value in [0, 1) for a grid point. */
function grain(x, y) {
  let hash = Math.imul(x, 374761393) ^ Math.imul(y, 668265263);
  hash = Math.imul(hash ^ (hash >>> 13), 1274126177);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** Y, Cb and Cr of a colour, level-shifted as the transform wants them. */
function colour(red, green, blue) {
  return [
    0.299 * red + 0.587 * green + 0.114 * blue - 128,
    -0.1687 * red - 0.3313 * green + 0.5 * blue,
    0.5 * red - 0.4187 * green - 0.0813 * blue,
  ];
}

const BLOCK_OF_HOUSES = colour(238, 234, 226);
const PARK = colour(196, 222, 172);
const SQUARE = colour(234, 220, 202);
const STREET = colour(255, 255, 255);
const RIVER = colour(158, 196, 232);
const AVENUE = colour(250, 208, 112);
const GRAIN = 26;

/** Colour of the map at a point, without its grain. */
function mapColour(x, y) {
  if ((x + 2 * y) % 420 < 18) return AVENUE;
  if (Math.abs(y - 260 - 0.35 * x - 70 * Math.sin(x / 150)) < 42) return RIVER;
  if (x % 74 < 9 || (y + 20) % 92 < 8) return STREET;
  const plot = grain(Math.floor(x / 74) + 1000, Math.floor((y + 20) / 92));
  if (plot < 0.18) return PARK;
  return plot < 0.3 ? SQUARE : BLOCK_OF_HOUSES;
}

/** One row of 8x8 blocks, the whole width, three components interleaved. */
function encodeRow(row, width, previousDc, bits) {
  const blocks = [new Float64Array(64), new Float64Array(64), new Float64Array(64)];
  const [luma, blue, red] = blocks;
  for (let column = 0; column < width; column += 8) {
    for (let i = 0; i < 64; i++) {
      const [x, y] = [column + (i & 7), row + (i >> 3)];
      const components = mapColour(x, y);
      luma[i] = components[0] + GRAIN * (grain(x, y) - 0.5);
      blue[i] = components[1];
      red[i] = components[2];
    }
    for (let index = 0; index < 3; index++) previousDc[index] = encodeBlock(blocks[index], previousDc[index], bits);
  }
}

function segment(marker, payload) {
  const length = payload.length + 2;
  return Buffer.from([0xff, marker, length >> 8, length & 0xff, ...payload]);
}

/** COM segments that take exactly `size` bytes; `size` is 0 or at least 4. */
function padding(size) {
  const parts = [];
  while (size > 0) {
    let take = Math.min(size, 65537);
    if (size - take > 0 && size - take < 4) take -= 4;
    parts.push(segment(0xfe, Buffer.alloc(take - 4, " ")));
    size -= take;
  }
  return Buffer.concat(parts);
}

/**
 * A JPEG of exactly `size` bytes, at least 2048.
 * @param {number} size
 * @returns {Buffer}
 */
export function jpegOfSize(size) {
  if (!Number.isInteger(size) || size < SMALLEST_BYTES)
    throw new RangeError(`an image of ${size} bytes; allowed: a whole number from ${SMALLEST_BYTES}`);
  const width = Math.max(16, 8 * Math.round(Math.sqrt(size * 2.6) / 8));
  const frame = (height) =>
    segment(0xc0, [8, height >> 8, height & 0xff, width >> 8, width & 0xff, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]);
  const opening = Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, [...Buffer.from("JFIF\0"), 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    segment(0xdb, [0, ...new Array(64).fill(QUANTIZER)]),
    segment(0xc4, [0x00, ...DC_LENGTHS, ...DC_SYMBOLS]),
    segment(0xc4, [0x10, ...AC_LENGTHS, ...AC_SYMBOLS]),
  ]);
  const scanHeader = segment(0xda, [3, 1, 0, 2, 0, 3, 0, 0, 63, 0]);
  const closing = Buffer.from([0xff, 0xd9]);
  const fixed = opening.length + frame(8).length + scanHeader.length + closing.length;

  const bits = new BitWriter(size + width * 64);
  const previousDc = [0, 0, 0];
  let height = 0;
  for (;;) {
    const mark = bits.mark();
    encodeRow(height, width, previousDc, bits);
    // Two bytes for the last, partly filled one, and four for the smallest COM segment.
    if (size - fixed - bits.size < 6) {
      bits.rewind(mark);
      break;
    }
    height += 8;
  }
  const body = bits.finished();
  return Buffer.concat([opening, padding(size - fixed - body.length), frame(height), scanHeader, body, closing]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.stdout.write(jpegOfSize(Number(process.argv[2])));
