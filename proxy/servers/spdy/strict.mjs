/**
 * A scheduler for SPDY streams that follows their priorities and decides as late as possible. It replaces the scheduler
 * of spdy-transport, which docs/guide/spdy.md describes.
 *
 * Rules:
 * 1. A frame is written when the kernel has taken the previous one. So the bytes in the kernel and one frame have a
 *    fixed order; all other frames can still be reordered.
 * 2. The waiting DATA frame with the lowest level goes first; within a level, the oldest.
 * 3. Control frames go before all DATA, in the order in which they were made, because header blocks depend on each
 *    other.
 * 4. DATA uses up the session's window only when it is written, so the scheduler's order holds for the window, too. A
 *    frame larger than the window is split.
 */

const LEVELS = 8;
const WEIGHT_PER_LEVEL = 5; // the package turns SPDY's level into a weight: 1, 6, 11 ...
const HEADER_BYTES = 8;

/** Takes the first waiting frame, or the part of it that fits into the window; undefined if nothing fits. */
function take(waiting, room) {
  const [{ bytes, callback }] = waiting;
  const size = bytes.length - HEADER_BYTES;
  if (size <= room) return waiting.shift();
  if (room <= 0) return undefined;
  const first = Buffer.from(bytes.subarray(0, HEADER_BYTES + room));
  first[4] = 0; // clears FLAG_FIN: the stream does not end here
  first.writeUIntBE(room, 5, 3);
  const rest = Buffer.concat([bytes.subarray(0, HEADER_BYTES), bytes.subarray(HEADER_BYTES + room)]);
  rest.writeUIntBE(size - room, 5, 3);
  waiting[0] = { bytes: rest, callback };
  return { bytes: first };
}

/** Replaces the scheduler of a connection of spdy-transport; must be called before the connection is started. */
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

  /** Writes in the next turn of the event loop: a stream whose frame was taken makes its next frame in this turn. */
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
