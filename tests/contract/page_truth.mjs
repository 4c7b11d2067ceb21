// What the page's own modules make of a film and of numbers: {film, positions, instants, numbers} in, answers out.
import { readFileSync } from "node:fs";

const [, , folder] = process.argv;
const asked = JSON.parse(readFileSync(0, "utf8"));
// No package.json says what they are, so they are imported as what they are.
const load = (name) =>
  import(`data:text/javascript;base64,${readFileSync(`${folder}/${name}`).toString("base64")}`);
const { Film, STREAMS } = await load("film.js");
const { kib, seconds } = await load("words.js");

const film = new Film(asked.film);
process.stdout.write(
  JSON.stringify({
    before: STREAMS.map((stream) => asked.positions.map((position) => film.before(stream, position))),
    at: asked.instants.map((instant) => film.at(instant)),
    segments: asked.positions.map((position) => film.segments(asked.positions[0], position)),
    availableMs: film.availableMs,
    kib: asked.numbers.map(kib),
    seconds: asked.numbers.map(seconds),
  }),
);
