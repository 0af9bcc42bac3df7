/**
 * Replaces the server in a notebook's widget: the log comes in messages from the widget's script (static/widget.js), and so do the
 * answers of the kernel, where the run's model is.
 */

import { json } from "../shared/log/responses.js";
import { msg } from "../shared/words/msg.js";
import { PROTOCOL } from "./protocol.js";

/** @typedef {"computing"|"recorded"|"silent"|"free"|"busy"|"gone"} Kernel what the kernel does: it computes the run; it has only the record;
 *   it has never answered; it answers; it is busy with something else; its connection is lost */

const GONE = {
  title: msg`The kernel is gone`,
  detail: msg`What is recorded still plays. Run the cell again to ask for more.`,
  status: 409,
};
const BROKE_OFF = {
  title: msg`The run broke off`,
  detail: msg`The cell that computed it ended with an error. What is recorded still plays.`,
  status: 409,
};
const ANSWERING = ["free", "busy"];

/**
 * @param {Object} parts
 * @param {Window} parts.window
 * @param {Object} parts.glossary
 * @param {(kernel: Kernel) => void} parts.onKernel called when the kernel's state changes
 * @returns {(path: string, options?: {signal?: AbortSignal}) => Promise<Response>} a replacement of the browser's `fetch`
 */
export function kernelSource({ window, glossary, onKernel }) {
  const { parent } = window;
  /** The log so far: pieces of one deflated stream of frames. */
  const chunks = [];
  let over = false;
  let kernel = /** @type {Kernel} */ ("silent");
  const growing = new Set();
  const questions = new Map();
  let asked = 0;

  const post = (message) => parent.postMessage({ kvscope: PROTOCOL, ...message }, "*");

  /** What is incomplete ends in an error, which the reader of the log handles; the stream reports it too. */
  const write = (writer, bytes) => writer.write(bytes).catch(() => {});
  const close = (writer) => writer.close().catch(() => {});

  const end = () => {
    growing.forEach(close);
    growing.clear();
  };

  const RECEIVED = {
    log({ bytes }) {
      chunks.push(bytes);
      for (const writer of growing) write(writer, bytes);
    },
    over() {
      over = true;
      end();
    },
    kernel(message) {
      kernel = message.kernel;
      if (kernel === "gone") end();
      onKernel(kernel);
    },
    answer({ id, status, media, body }) {
      questions.get(id)?.(
        status ? new Response(body, { status, headers: { "Content-Type": media } }) : json(GONE, GONE.status),
      );
      questions.delete(id);
    },
  };

  window.addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.kvscope !== PROTOCOL) return;
    if (Object.hasOwn(RECEIVED, data.type)) RECEIVED[data.type](data);
  });
  post({ type: "listen" });

  const frames = (after) => {
    if (after >= 0) return json(over ? BROKE_OFF : GONE, GONE.status);
    const inflating = new DecompressionStream("deflate");
    const writer = inflating.writable.getWriter();
    for (const bytes of chunks) write(writer, bytes);
    if (over || kernel === "gone") close(writer);
    else growing.add(writer);
    return new Response(inflating.readable);
  };

  const ask = (path, signal) =>
    new Promise((resolve) => {
      asked += 1;
      const id = asked;
      questions.set(id, resolve);
      signal?.addEventListener("abort", () => post({ type: "forget", id }));
      post({ type: "ask", id, path });
    });

  const readiness = () => {
    if (ANSWERING.includes(kernel)) return json({ state: "ready", model: null });
    const isComputing = kernel === "computing";
    return json({ state: isComputing ? "loading" : "none", message: "", model: null }, 503);
  };

  return async (path, { signal } = {}) => {
    const { pathname, searchParams } = new URL(path, "http://kernel");
    if (pathname === "/static/shared/words/glossary.json") return json(glossary);
    if (pathname === "/readyz") return readiness();
    if (pathname.endsWith("/frames")) return frames(Number(searchParams.get("after") ?? -1));
    return ask(path, signal);
  };
}
