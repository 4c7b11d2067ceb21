// @ts-check
// The last section: what to do on a server of one's own, and the doors to Explore, the talk and the lab.

import { element } from "../svg.js";

/** @typedef {import("./language.js").Language} Language */

const COMMANDS = ["make experiment LOWAT=131072", "make demo"];

/** @param {Language} language @param {Record<string, string>} about where the recordings came from */
export function yours(language, about) {
  const own = language.strings.sections.yours;
  const place = element("section", "part of-yours");
  place.id = "yours";
  const title = element("h2", "", own.title);
  title.id = "title-of-yours";
  title.tabIndex = -1;
  place.setAttribute("aria-labelledby", title.id);
  /** A text without facts. @param {string} tag @param {string} text @param {string} [name] */
  const said = (tag, text, name = "") => {
    const made = element(tag, name);
    made.append(...language.nodes(text, {}));
    return made;
  };
  const words = element("div", "words");
  const steps = element("ol", "");
  steps.append(...own.steps.map((text) => said("li", text)));
  words.append(...own.text.map((text) => said("p", text, "told")), code([own.code]), steps);
  const run = element("div", "door");
  run.append(element("h3", "", own.run), said("p", own.runText), code(COMMANDS));
  const doors = element("div", "doors");
  doors.append(door(own.explore, own.exploreText, "?explore"), door(own.talk, own.talkText, "?step=1"), run);
  place.append(title, words, element("h2", "doors-title", own.doors), doors);
  const facts = Object.entries(about);
  if (facts.length) {
    const fold = element("details", "about");
    const list = element("dl", "");
    for (const [name, text] of facts) list.append(element("dt", "", name), element("dd", "", text));
    fold.append(element("summary", "", own.about), element("p", "", own.aboutText), list);
    place.append(fold);
  }
  return place;
}

/** Lines of a shell, which break after a sign of their names if they must. @param {readonly string[]} lines */
function code(lines) {
  const block = element("pre", "");
  block.tabIndex = 0;
  const made = element("code", "");
  for (const part of lines.join("\n").split(/(?<=[_=.])/)) made.append(part, element("wbr", ""));
  block.append(made);
  return block;
}

/** @param {string} name @param {string} text @param {string} href */
function door(name, text, href) {
  const made = element("div", "door");
  const title = element("h3", "");
  const link = /** @type {HTMLAnchorElement} */ (element("a", "", name));
  link.href = href;
  title.append(link);
  made.append(title, element("p", "", text));
  return made;
}
