// @ts-check
// One sentence for each word that a film shows without explaining it, for readers who have met none of them. Names of
// resources stand in braces: {important} is what the client asked to get first, {others} are the rest.

export const GLOSSARY = Object.freeze({
  // The places, from the server to the reader.
  front: "The front is the server that the client talks to; while bytes are here, it can still change their order.",
  kernel: "The kernel is the core of the server's operating system; it sends the bytes it has been given, and never changes their order.",
  network: "The network is the link between server and client; it holds so few bytes at once that they are drawn larger here.",
  client: "The client is the visitor's browser; bytes here have arrived.",
  origin: "The origin is the computer that makes the answers; the front fetches them there.",
  // What bytes are made of, and what bounds them.
  record: "A record is a piece of the answer, up to 16 KiB, that is locked as a whole; the client can read it only when all of it is there.",
  lowat: "LOWAT is TCP_NOTSENT_LOWAT, a limit that a server sets for the kernel: how many bytes may wait there unsent.",
  unsent: "Unsent bytes have been handed to the kernel, and still wait there for their turn on the network.",
  bottleneck: "The bottleneck is the slowest part of the way; bytes queue up in front of it.",
  queue: "The queue is where packets wait in front of the bottleneck, the slowest part of the way.",
  travel: "Travel is the time that bytes need for the way itself; no server can make it shorter.",
  output: "The front's output is a queue inside the server, behind the place where it chooses an order.",
  work: "The server's work is the time that it needs to compute: to receive, to encrypt, to send.",
  flow: "Flow control is the client's permission for each answer: a server may send no more bytes than it allows.",
  window: "The receive window says how many more bytes the client's kernel has room for.",
  cross: "Other flows are the traffic of other users on the same link.",
  second: "A second front is another server between the front and the origin.",
  unexplained: "The rest of the wait, for which the lab saw no cause.",
  lost: "A lost packet is sent again, and the bytes behind it have to wait for it.",
  request: "A request: the client asks the server for this.",
  // The lanes and their colours.
  others: "This colour is the {others}: what the client could do without for a while.",
  important: "This colour is the {important}: what the client asked to get first.",
  hole: "A gap in a lane: nothing of it arrived at that time, because the link carried other bytes, or waited for a lost packet.",
  exists: "From this instant on the origin has the {important}, so a server could send it.",
  waiting: "The pale bar is the time in which it could have been sent, and its first byte had not arrived.",
  arm: "An arm is one of two films of the same page load, which differ in one setting; its name is the value of this setting.",
  screen: "The visitor's screen at this instant: what a browser can show of the bytes that have arrived.",
  strip: "The visitor's screens of both films at equal steps of time, the film above and the film below.",
  // What a film shows at its end.
  kept: "Order kept: the client got the bytes in the order that it had asked for.",
  inverted: "Order inverted: what the client had asked to get first came last.",
  "nothing-to-prioritize": "Nothing to prioritize: the server never had two answers to choose from, so no order could be wrong.",
  undecided: "Undecided: the client did not ask for an order, or the bytes came in no clear order.",
  waited: "Waited is the time from the instant at which it could be sent until its first byte arrived.",
  begins: "It begins when its first byte arrives at the client.",
  complete: "It is complete when its last byte has arrived at the client.",
  needless: "Needless bytes went before the {important} although they could have waited.",
  before: "So many bytes of the {others} arrived before the first byte of the {important}.",
  possible: "The soonest possible time is the earliest at which any server could have got the first byte across this link.",
  link: "The link's facts: how much it carries in a second, how long the way there and back takes, and how much may queue up.",
});

/** @typedef {keyof typeof GLOSSARY} Word */

/** Returns a word's sentence, with the names of the resources. @param {Word} word @param {Record<string, string>} names */
export function sentenceOf(word, names) {
  return GLOSSARY[word].replace(/\{(\w+)\}/g, (_, name) => names[name] ?? name);
}
