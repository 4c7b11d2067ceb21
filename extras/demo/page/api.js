// @ts-check
// Calls the lab's server. The token follows the `#` of the address that `make demo` prints. A copied link has no token:
// a page without a token asks the other pages of this browser that come from the same server.

import { keep, known, Refused, ship } from "./seen.js";

/** @typedef {import("./types.js").Shown} Shown */
/** @typedef {import("./types.js").News} News */

const KEPT = "priolab-token";
const BUSY = 429;
const STOPPED = "the lab stopped before the run was done";

const ASKED_MS = 1500;
const MOST_AGAIN = 4;
const PAUSE_MS = 300;

async function token() {
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem(KEPT, given);
    // The audience must not see the token.
    history.replaceState(null, "", location.pathname + location.search);
  }
  const found = sessionStorage.getItem(KEPT) ?? (await another());
  if (found) sessionStorage.setItem(KEPT, found);
  pages.addEventListener("message", ({ data }) => {
    if (data.ask && found) pages.postMessage({ token: found });
  });
  return found;
}

const pages = new BroadcastChannel(KEPT);

/** Asks the other pages for the token. @returns {Promise<string>} */
function another() {
  return new Promise((found) => {
    pages.addEventListener("message", ({ data }) => data.token && found(String(data.token)));
    pages.postMessage({ ask: true });
    setTimeout(() => found(""), ASKED_MS);
  });
}

const TOKEN = token();

/**
 * @param {string} path
 * @param {RequestInit} [options]
 */
async function call(path, options = {}) {
  const response = await fetched(path, options);
  if (!response.ok) throw new Refused(await reason(response), response.status === BUSY);
  return response;
}

/**
 * Sends a request, again if the connection breaks, each time after a longer pause: browsers drop all requests when the
 * network of their machine changes, and networks change several times in a row.
 * @param {string} path
 * @param {RequestInit} options
 */
async function fetched(path, options) {
  for (let again = 0; ; again += 1) {
    try {
      return await fetch(path, { ...options, headers: { "x-priolab-token": await TOKEN } });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      if (again === MOST_AGAIN) throw new Refused("the lab does not answer; is `make demo` still running?", true);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * (again + 1)));
    }
  }
}

/** @param {Response} response */
async function reason(response) {
  const text = await response.text();
  try {
    return String(JSON.parse(text).error);
  } catch {
    return text || response.statusText;
  }
}

/** @returns {Promise<import("./types.js").Choices>} */
export async function choices() {
  return (await call("/api/choices")).json();
}

/** Reads the results that were shipped with the demo. */
export async function readShipped() {
  /** @type {{arms: Shown[]}} */
  const { arms } = await (await call("/api/recorded")).json();
  for (const shown of arms) ship(shown);
}

/** Reads all results that were shipped with the demo. @returns {Promise<Shown[]>} */
export async function recordings() {
  return (await (await call("/api/recordings")).json()).arms;
}

/** @typedef {{knobs: Record<string, string>, shown?: Shown, job?: string}} Answer */

/**
 * Requests the arm with these knobs. Returns the result if the arm has been run, else the job that runs it.
 * @param {Record<string, string>} knobs
 * @param {boolean} [background] true if nobody waits for the result yet
 * @returns {Promise<Answer>}
 */
export async function ask(knobs, background = false) {
  const shown = known(knobs);
  if (shown) return { knobs, shown };
  const body = JSON.stringify(background ? { knobs, background } : { knobs });
  const answer = await (await call("/api/arms", { method: "POST", body })).json();
  return { knobs, ...answer };
}

/**
 * Waits for an answer's result.
 * @param {Answer} answer
 * @param {(news: News) => void} told
 * @param {AbortSignal} signal cancels; the job ends if no other page waits for it
 * @returns {Promise<Shown>}
 */
export async function result({ knobs, shown, job }, told, signal) {
  const found = shown ?? (await made(String(job), told, signal));
  keep(knobs, found);
  return found;
}

/**
 * @param {string} job
 * @param {(news: News) => void} told
 * @param {AbortSignal} signal
 */
async function made(job, told, signal) {
  const cancel = () => void call(`/api/jobs/${job}/cancel`, { method: "POST" }).catch(() => undefined);
  signal.addEventListener("abort", cancel);
  try {
    if (signal.aborted) cancel();
    for (let again = 0; again <= MOST_AGAIN; again += 1) {
      const response = await call(`/api/jobs/${job}/news`, { signal }).catch((error) => {
        throw again ? new Refused(STOPPED) : error;
      });
      for await (const news of lines(response)) {
        told(news);
        if (news.shown) return news.shown;
        if (news.state === "failed" || news.state === "cancelled") throw new Refused(news.text);
      }
    }
  } finally {
    signal.removeEventListener("abort", cancel);
  }
  throw new Refused(STOPPED);
}

/** Browsers throw a TypeError when a connection breaks. @param {unknown} error @returns {{done: true, value: undefined}} */
function lost(error) {
  if (error instanceof TypeError) return { done: true, value: undefined };
  throw error;
}

/** Yields the lines until the answer ends or breaks. @param {Response} response @returns {AsyncGenerator<News>} */
async function* lines(response) {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(lost);
    if (done) return;
    const [...whole] = (rest + value).split("\n");
    rest = whole.pop() ?? "";
    for (const line of whole) yield JSON.parse(line);
  }
}
