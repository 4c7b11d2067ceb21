// @ts-check
// Keeps what a drawing has made for the next one, which makes anew only what would differ.

/** What was made, by names, each with all that it was made from. What a drawing does not ask for is forgotten. */
export class Kept {
  constructor() {
    /** @type {Map<string, {from: string, made: unknown}>} */
    this.now = new Map();
    this.before = this.now;
  }

  /** Begins a new drawing. */
  turn() {
    this.before = this.now;
    this.now = new Map();
  }

  /**
   * Returns what has this name, if it would be made from the same again; otherwise makes it.
   * @template T
   * @param {string} name @param {unknown} from @param {() => T} build
   */
  keep(name, from, build) {
    const text = JSON.stringify(from);
    const there = this.now.get(name) ?? this.before.get(name);
    const made = there?.from === text ? /** @type {T} */ (there.made) : build();
    this.now.set(name, { from: text, made });
    return made;
  }
}
