// Prints the texts of the explanation in the files that are given, as a list.
import { readFileSync } from "node:fs";

const all = [];
for (const file of process.argv.slice(2)) {
  // No package.json says that these files are ES modules, so they are imported by data: URL.
  all.push((await import(`data:text/javascript;base64,${readFileSync(file).toString("base64")}`)).strings);
}
process.stdout.write(JSON.stringify(all));
