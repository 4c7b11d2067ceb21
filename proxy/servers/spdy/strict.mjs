/**
 * The order of SPDY's streams as they ask for it, decided as late as can be: in place of the scheduler of
 * spdy-transport, of which docs/spdy.md says what it does.
 *
 * Rules:
 * 1. A frame is written when all before it is with the kernel. What waits in the kernel and one frame before it cannot
 *    be overtaken; everything else can.
 * 2. Of the DATA that waits, that of the lowest level goes first; within a level, first come, first served.
 * 3. Control frames go before all DATA, and among themselves as they come: header blocks depend on each other.
 * 4. The session's window is asked for when DATA is written, so it is spent in the same order. What does not fit is cut.
 */

const LEVELS = 8;
const WEIGHT_PER_LEVEL = 5; // the package keeps SPDY's level as a weight: 1, 6, 11 ...
const HEADER_BYTES = 8;

/** As much of the first frame that waits as there is room for in a window; undefined if that is nothing. */
function take(waiting, room) {
  const [{ bytes, callback }] = waiting;
  const size = bytes.length - HEADER_BYTES;
  if (size <= room) return waiting.shift();
  if (room <= 0) return undefined;
  const first = Buffer.from(bytes.subarray(0, HEADER_BYTES + room));
  first[4] = 0; // not the last
  first.writeUIntBE(room, 5, 3);
  const rest = Buffer.concat([bytes.subarray(0, HEADER_BYTES), bytes.subarray(HEADER_BYTES + room)]);
  rest.writeUIntBE(size - room, 5, 3);
  waiting[0] = { bytes: rest, callback };
  return { bytes: first };
}

/** Of a connection of spdy-transport, before it is started. */
export function orderStrictly(connection) {
  const { socket } = connection;
  const { framer, window } = connection._spdyState;
  const control = [];
  const data = Array.from({ length: LEVELS }, () => []);
  const levels = new Map();
  let isWriting = false;

  function next() {
    if (control.length) return control.shift();
    const waiting = data.find((level) => level.length);
    const frame = waiting && take(waiting, window.send.getCurrent());
    if (frame) window.send.update(HEADER_BYTES - frame.bytes.length);
    return frame;
  }

  function write() {
    const frame = isWriting ? undefined : next();
    if (!frame) return;
    isWriting = true;
    socket.write(frame.bytes, () => {
      isWriting = false;
      soon();
    });
    frame.callback?.(null);
  }

  /** A stream has one frame waiting, and makes the next within this turn of the event loop, when that one was taken. */
  function soon() {
    setImmediate(write);
  }

  framer.schedule = ({ stream, priority, chunks, callback }) => {
    const waiting = priority === false ? control : data[levels.get(stream)];
    waiting.push({ bytes: Buffer.concat(chunks), callback });
    soon();
  };
  framer.window = { send: { update: (size, proceed) => process.nextTick(proceed) } };

  connection.on("frame", ({ type, id, priority }) => {
    if (type === "HEADERS" && !levels.has(id)) levels.set(id, (priority.weight - 1) / WEIGHT_PER_LEVEL);
    if (type === "WINDOW_UPDATE") soon();
  });
}
