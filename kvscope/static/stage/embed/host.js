/**
 * Exchanges messages with the page around an embed. Messages go to any origin, so they contain only numbers and the name of a view.
 * Messages are accepted only from the parent window.
 */

import { commandOf, PROTOCOL, sizeMessages, stepMessage } from "../../embed/protocol.js";

/** The layout of a run grows while it opens; its height is sent after this time, in ms. */
const SETTLING_MS = 200;

/**
 * @param {{window: Window, store: Object, controller: Object}} parts
 * @returns {{reportHeight: (height: number) => void, dispose: () => void}}
 */
export function createEmbedHost({ window, store, controller }) {
  const { parent } = window;
  const alone = parent === window;
  let lastSent = "";
  let height = 0;
  let settling = null;
  let settled = false;

  const send = (message) => {
    if (!alone) parent.postMessage(message, "*");
  };

  const sendStep = () => {
    const { run, problem } = store.state();
    // Until the run is complete, the page does not show what it opens with.
    if (!run?.close && !problem && !run?.saved?.live) return;
    const message = stepMessage(store.state());
    const text = JSON.stringify(message);
    if (!message || text === lastSent) return;
    if (!lastSent) send({ kvscope: PROTOCOL, type: "ready" });
    lastSent = text;
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
    /** The page around has begun to listen: sends everything again. */
    hello() {
      lastSent = "";
      sendHeight();
      sendStep();
    },
    goto({ link }) {
      if (store.state().run?.steps.length) controller.applyLink(link);
    },
    theme({ theme }) {
      store.dispatch({ type: "theme", theme });
    },
    play: () => controller.play(),
    pause: () => controller.pause(),
  };

  const onMessage = ({ source, data }) => {
    if (alone || source !== parent) return;
    const command = commandOf(data);
    if (command) /** @type {(command: Object) => void} */ (COMMANDS[command.type])(command);
  };

  window.addEventListener("message", onMessage);
  const unsubscribe = store.subscribe(sendStep);
  return {
    /** @param {number} needed height of the frame at which nothing scrolls, in CSS pixels */
    reportHeight(needed) {
      if (needed === height) return;
      height = needed;
      sendHeight();
    },
    dispose() {
      window.clearTimeout(settling);
      window.removeEventListener("message", onMessage);
      unsubscribe();
    },
  };
}
