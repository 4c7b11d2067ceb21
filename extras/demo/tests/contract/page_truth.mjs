// Prints what the page's modules compute from {film, positions, instants, numbers}, which standard input gives.
import { readFileSync } from "node:fs";

const [, , folder] = process.argv;
const asked = JSON.parse(readFileSync(0, "utf8"));
// No package.json says that these files are ES modules, so they are imported by data: URL.
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
