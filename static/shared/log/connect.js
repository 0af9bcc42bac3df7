/** The way to this server by Socket.IO. */

import { io } from "socket.io-client";
import { under } from "./root.js";

/** @returns {Object} a socket that is being connected */
export function connect() {
  return io({ path: under("/socket.io/"), transports: ["websocket"] });
}
