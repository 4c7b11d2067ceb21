// @ts-check
// The page's request: the knobs of both arms, and the knob in which they differ.

/** @typedef {Record<string, string>} Knobs */
/** @typedef {{compare: string, values: [string, string], knobs: Knobs}} Asked */

const PLACE = ["above: ", "below: "];

export class KnobChoice {
  /** @param {readonly import("./types.js").KnobOffer[]} knobs */
  constructor(knobs) {
    this.offers = knobs;
    /** @type {Knobs} */
    this.defaults = Object.fromEntries(knobs.map((knob) => [knob.name, knob.default]));
    this.compare = "LOWAT";
    /** @type {Knobs} */
    this.shared = {};
    /** @type {[string, string]} */
    this.values = ["none", this.defaults.LOWAT];
  }

  /** Compares a named scenario with its control. @param {Knobs} knobs of the scenario */
  scenario(knobs) {
    const { LOWAT: lowat, ...others } = knobs;
    this.compare = "LOWAT";
    this.values = ["none", lowat ?? this.defaults.LOWAT];
    this.shared = others;
  }

  /** @param {Asked} step */
  step(step) {
    this.compare = step.compare;
    this.values = [...step.values];
    this.shared = { ...step.knobs };
  }

  /**
   * Compares a knob's current value with another value.
   * @param {string} name @param {0 | 1} [arm] the arm whose value of the knob compared before both arms get
   */
  differ(name, arm = 1) {
    if (name === this.compare) return;
    this.shared[this.compare] = this.values[arm];
    const first = this.shared[name] ?? this.defaults[name];
    const offer = this.offers.find((each) => each.name === name);
    const telling = [offer?.telling ?? first, ...(offer?.values ?? [])];
    const other = telling.find((value) => value !== first) ?? first;
    delete this.shared[name];
    this.compare = name;
    this.values = name === "LOWAT" ? ["none", first === "none" ? this.defaults.LOWAT : first] : [first, other];
  }

  /** @param {string} name */
  value(name) {
    return this.shared[name] ?? this.defaults[name];
  }

  /** @param {string} name @param {string} value @param {0 | 1} arm without effect unless the arms differ in this knob */
  set(name, value, arm) {
    if (name === this.compare) this.values[arm] = value;
    else this.shared[name] = value;
  }

  /** @returns {[Knobs, Knobs]} */
  get arms() {
    return this.armsOf({ compare: this.compare, values: this.values, knobs: this.shared });
  }

  /** All knobs of both arms. @param {Asked} asked @returns {[Knobs, Knobs]} */
  armsOf({ compare, values, knobs: shared }) {
    const knobs = (/** @type {string} */ value) => ({ ...this.defaults, ...shared, [compare]: value });
    return [knobs(values[0]), knobs(values[1])];
  }

  /** The values of LOWAT that are not those of a step, and what they are in place of. @param {Asked} step */
  ownOf(step) {
    const own = this.arms.map(({ LOWAT: value }, arm) => ({ place: PLACE[arm], value, told: this.armsOf(step)[arm].LOWAT }));
    const changed = own.filter(({ value, told }) => value !== told);
    return step.compare === "LOWAT" ? changed : changed.slice(0, 1).map((each) => ({ ...each, place: "" }));
  }

  /** @returns {[string, string]} */
  get names() {
    return [this.nameOf(this.compare, this.values[0]), this.nameOf(this.compare, this.values[1])];
  }

  /** The plain name of an arm with this value. @param {string} name @param {string} value */
  nameOf(name, value) {
    const offer = this.offers.find((each) => each.name === name);
    // The plain names of priorities speak of the image and the script.
    const plain = name !== "PRIORITY" || this.value("PAGE") === this.defaults.PAGE;
    return (plain && offer?.names[value]) || `${name} ${value}`;
  }
}
