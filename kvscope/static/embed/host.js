/**
 * An embed's side of the messages between it and the page around it. What it says goes to any origin, so it holds nothing
 * but numbers and the name of a view; what it hears counts only when it comes from the window right around it.
 */

import { commandOf, PROTOCOL, sizeMessages, stepMessage } from "./protocol.js";

/** What a run opens with is laid out bit by bit; a height is said once it is likely to last, in ms. */
const SETTLING_MS = 200;

/**
 * @param {{window: Window, store: Object, controller: Object}} parts
 * @returns {{reportHeight: (height: number) => void, dispose: () => void}}
 */
export function createEmbedHost({ window, store, controller }) {
  const { parent } = window;
  const alone = parent === window;
  let told = "";
  let height = 0;
  let settling = null;
  let settled = false;

  const send = (message) => {
    if (!alone) parent.postMessage(message, "*");
  };

  const sendStep = () => {
    const { run, problem } = store.state();
    // Until all is there, what is shown is not yet what it opens with.
    if (!run?.close && !problem) return;
    const message = stepMessage(store.state());
    const text = JSON.stringify(message);
    if (!message || text === told) return;
    if (!told) send({ kvscope: PROTOCOL, type: "ready" });
    told = text;
    send(message);
    settling ??= window.setTimeout(settle, SETTLING_MS);
  };

  const sendHeight = () => {
    if (height && settled) sizeMessages(height).forEach(send);
  };

  const settle = () => {
    settled = true;
    sendHeight();
  };

  const COMMANDS = {
    /** The page around has begun to listen: all is said again. */
    hello() {
      told = "";
      sendHeight();
      sendStep();
    },
    goto({ link }) {
      if (store.state().run?.steps.length) controller.applyLink(link);
    },
    play: () => controller.play(),
    pause: () => controller.pause(),
  };

  const onMessage = ({ source, data }) => {
    if (alone || source !== parent) return;
    const command = commandOf(data);
    if (command) COMMANDS[command.type](/** @type {any} */ (command));
  };

  window.addEventListener("message", onMessage);
  const unsubscribe = store.subscribe(sendStep);
  return {
    /** @param {number} wanted in CSS pixels: of the frame, so that nothing in it has to be scrolled */
    reportHeight(wanted) {
      if (wanted === height) return;
      height = wanted;
      sendHeight();
    },
    dispose() {
      window.clearTimeout(settling);
      window.removeEventListener("message", onMessage);
      unsubscribe();
    },
  };
}
