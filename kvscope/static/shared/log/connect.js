/** Connects to this server with Socket.IO. */

import { io } from "socket.io-client";
import { under } from "./root.js";

/** @returns {Object} a socket that connects */
export function connect() {
  return io({ path: under("/socket.io/"), transports: ["websocket"] });
}
