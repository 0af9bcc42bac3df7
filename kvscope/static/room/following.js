/**
 * Follows a room by Socket.IO: its state now, whenever it changes, and at once when the connection is back. While the socket does not
 * follow, it asks for the state by HTTP: some networks let no WebSocket through.
 */

/** After this time a page asks again whether it may follow, in ms. */
const AGAIN_MS = 3000;
/** Interval between requests while the socket does not follow, in ms. */
const READ_MS = 2000;

/**
 * @param {Object} parts
 * @param {string} parts.code
 * @param {string} parts.client the client's token
 * @param {() => boolean} parts.presents
 * @param {Object} parts.socket
 * @param {() => Promise<Object>} parts.read gets the room by HTTP. It may throw Problem
 * @param {{onRoom: (room: Object) => void, onOver: (why: Object|"ended") => void, onConnection: (connected: boolean) => void}} parts.handlers
 *   `onConnection`: false once neither way leads to the server
 * @param {(ms: number) => Promise<void>} parts.delay
 * @returns {() => void} asks now: the page may have missed something
 */
export function followRoom({ code, client, presents, socket, read, handlers, delay }) {
  /** Whether the socket follows, or there is nothing to follow. */
  let settled = false;
  let reading = false;

  const take = (room) => {
    handlers.onConnection(true);
    handlers.onRoom(room);
  };
  const end = (why) => {
    settled = true;
    handlers.onConnection(true);
    handlers.onOver(why);
  };

  const readOnce = async () => {
    try {
      const room = await read();
      if (!settled) take(room);
    } catch (problem) {
      if (settled) return;
      if (problem.status === 404) end(problem);
      else handlers.onConnection(false);
      await delay((problem.retryAfter ?? 0) * 1000);
    }
  };
  const lose = async () => {
    settled = false;
    if (reading) return;
    reading = true;
    while (!settled) {
      await delay(READ_MS);
      if (!settled) await readOnce();
    }
    reading = false;
  };

  const ask = () => {
    socket.timeout(AGAIN_MS).emit("follow", { room: code, client, presents: presents() }, async (silent, answer) => {
      if (silent) {
        lose();
        socket.disconnect().connect();
      } else if (answer.room) {
        settled = true;
        take(answer.room);
      } else if (answer.error.status === 404) {
        end(answer.error);
      } else {
        lose();
        await delay(AGAIN_MS);
        ask();
      }
    });
  };
  socket.on("connect", ask);
  socket.on("disconnect", lose);
  socket.on("connect_error", lose);
  socket.on("room", (room) => {
    if (room.code !== code) return;
    if (room.ended) end("ended");
    else handlers.onRoom(room);
  });
  if (socket.connected) ask();
  else lose();
  return () => (socket.connected ? ask() : socket.connect());
}
