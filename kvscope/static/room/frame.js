/** The page in the frame: what it shows, when the viewer touches it, and messages to it (embed/picture.js). */

import { PROTOCOL } from "../embed/protocol.js";
import { pathOf, under } from "../shared/log/root.js";

/** Interval between looks at the frame's address, in ms: browsers do not report when a page changes its own. */
const LOOK_MS = 60;

/**
 * @param {{window: Window, onShown: (shown: import("./place.js").Shown) => void, onTouch: () => void, onDocument: (document: Document) => void}} parts
 *   `onTouch`: the viewer pressed a key or a pointer in the page; `onDocument`: gets each new document in the frame, and in frames there
 */
export function createFrame({ window, onShown, onTouch, onDocument }) {
  /** @type {HTMLIFrameElement|null} */
  let element = null;
  let page = /** @type {Document|null} */ (null);
  let reports = {};
  let last = "";
  let theme = "";
  const heard = new WeakSet();

  const listen = (document) => {
    if (heard.has(document)) return;
    heard.add(document);
    document.addEventListener("pointerdown", onTouch, true);
    document.addEventListener("keydown", onTouch, true);
    // Of a screen reader, which sends nothing else.
    document.addEventListener("click", onTouch, true);
    onDocument(document);
  };

  const look = () => {
    const now = documentOf(element?.contentWindow);
    if (!now?.documentElement) return;
    if (now !== page) {
      page = now;
      // Also a page that does not exchange messages has no header of its own here.
      now.documentElement.dataset.lesson = "true";
      reports = {};
      last = "";
    }
    for (const document of documentsIn(element?.contentWindow)) listen(document);
    const { stage = null, lesson = null } = reports;
    const shown = { address: addressOf(stage ? new URL(stage.address, now.baseURI) : now.location), stage, lesson };
    const text = JSON.stringify(shown);
    if (text === last) return;
    last = text;
    onShown(shown);
  };

  const onMessage = ({ source, data }) => {
    if (source !== element?.contentWindow || data?.kvscope !== PROTOCOL) return;
    if (data.type === "pictureready") send({ type: "theme", theme });
    if (data.type !== "picture") return;
    look();
    const { page: name, address, run, step, steps, ended, playing, lesson } = data.shown;
    if (name === "stage") reports = { stage: { address, run, step, steps, ended, playing } };
    if (lesson) reports = { lesson };
    look();
  };

  window.addEventListener("message", onMessage);
  window.setInterval(look, LOOK_MS);
  const send = (message) => element?.contentWindow?.postMessage({ kvscope: PROTOCOL, ...message }, window.origin);
  return {
    send,
    setTheme(next) {
      theme = next;
      send({ type: "theme", theme });
    },
    /** Shows another hash of the same document. */
    move(address) {
      // Without a hash, the document would be loaded again.
      element?.contentWindow?.location.replace(under(address.includes("#") ? address : `${address}#`));
    },
    /** @param {HTMLIFrameElement|null} next the element, as soon as it is in the page */
    attach(next) {
      if (next === element) return;
      element = next;
      page = null;
      send({ type: "hello" });
    },
  };
}

/** @param {{pathname: string, search: string, hash: string}} location @returns {string} the address from the server's root */
export function addressOf({ pathname, search, hash }) {
  return `${pathOf(pathname)}${search}${hash}`;
}

/** @returns {Document|null} the document in a window; null before it has one, or if it is another site's */
function documentOf(inside) {
  try {
    return inside?.location.protocol.startsWith("http") ? inside.document : null;
  } catch {
    return null;
  }
}

/** @returns {Document[]} the documents in a window and in the frames of its page */
function documentsIn(inside) {
  const document = documentOf(inside);
  if (!document) return [];
  return [document, ...Array.from({ length: inside.length }, (_, at) => documentsIn(inside[at])).flat()];
}
