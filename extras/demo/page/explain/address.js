// @ts-check
// The explanation's state in its address, so that a copied link shows the same: `lang`, `line` (the value of LOWAT),
// `bet` in milliseconds, `when` (the choice in the section about costs), `at` (the section in view) and `t`, its film's
// time in milliseconds. All other names belong to Explore.

/** @typedef {{lang: string, line: string, bet: number | null, when: string, at: string, tMs: number | null}} Place */

const EXPLORED = /^(explore|step|scenario|differ|above|below|speed|[A-Z_]+)$/;

/** True if an address names a film of Explore, or a step of the talk. @param {string} search */
export function isExplored(search) {
  return [...new URLSearchParams(search).keys()].some((name) => EXPLORED.test(name));
}

/** @param {string} search @returns {Place} */
export function placeOf(search) {
  const query = new URLSearchParams(search);
  const text = (/** @type {string} */ name) => query.get(name) ?? "";
  const ms = (/** @type {string} */ name) => {
    const value = Number(query.get(name));
    return query.has(name) && Number.isFinite(value) && value >= 0 ? value : null;
  };
  return { lang: text("lang"), line: text("line"), bet: ms("bet"), when: text("when"), at: text("at"), tMs: ms("t") };
}

/** Returns the query of a place. @param {Place} place */
export function queryOf({ lang, line, bet, when, at, tMs }) {
  const query = new URLSearchParams();
  const given = { lang, line, bet: bet === null ? "" : Math.round(bet), when, at, t: tMs === null ? "" : Math.round(tMs) };
  for (const [name, value] of Object.entries(given)) if (value !== "") query.set(name, String(value));
  return `?${query}`;
}
