/** Follows a room by Socket.IO: its state now, whenever it changes, and at once when the connection is back. */

/** After this time a page asks again whether it may follow, in ms. */
const AGAIN_MS = 3000;

/**
 * @param {Object} parts
 * @param {string} parts.code
 * @param {string} parts.client the client's token
 * @param {() => boolean} parts.presents
 * @param {Object} parts.socket
 * @param {{onRoom: (room: Object) => void, onOver: (why: Object|"ended") => void, onConnection: (connected: boolean) => void}} parts.handlers
 * @param {(ms: number) => Promise<void>} parts.delay
 * @returns {() => void} asks now: the page may have missed something
 */
export function followRoom({ code, client, presents, socket, handlers, delay }) {
  const ask = () => {
    socket.timeout(AGAIN_MS).emit("follow", { room: code, client, presents: presents() }, async (silent, answer) => {
      if (silent) {
        handlers.onConnection(false);
        socket.disconnect().connect();
      } else if (answer.room) {
        handlers.onConnection(true);
        handlers.onRoom(answer.room);
      } else if (answer.error.status === 404) {
        handlers.onConnection(true);
        handlers.onOver(answer.error);
      } else {
        handlers.onConnection(false);
        await delay(AGAIN_MS);
        ask();
      }
    });
  };
  const lost = () => handlers.onConnection(false);
  socket.on("connect", ask);
  socket.on("disconnect", lost);
  socket.on("connect_error", lost);
  socket.on("room", (room) => {
    if (room.code !== code) return;
    if (room.ended) handlers.onOver("ended");
    else handlers.onRoom(room);
  });
  if (socket.connected) ask();
  return () => (socket.connected ? ask() : socket.connect());
}
