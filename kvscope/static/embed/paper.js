/** What a page shows, as a picture for paper: the handout of a lesson. Fetched when a lesson is printed. */

import { canvasOf, IMAGE_SCALE } from "../shared/files/snapshot.js";
import { msg } from "../shared/words/msg.js";

/** The page has drawn its place once nothing in it has changed and nothing was awaited for so long, in ms. */
const REST_MS = 1000;
/** A page that keeps changing, such as one with a run that goes on, is pictured after so long, in ms. */
const LONGEST_MS = 10_000;

/** What is of no use on paper: what is pressed, and the lines that lead to other parts of the page. */
// Not language: rules of a style sheet.
const RULES = `
  :root { --bg: #fff; }
  :is(.tabs, .panel-menu, .focus-rest, .modebar, .breadcrumb, .answer-actions, .own-prompt, .tooltip, .hint) { display: none !important; }
`;

/**
 * @param {Window} window
 * @param {() => boolean} isWaiting whether the page waits for an answer
 * @param {AbortSignal} signal ends it
 * @returns {Promise<{url: string, width: number, height: number}>} PNG of what is in sight without the space around it; its size in CSS pixels
 */
export async function paperOf(window, isWaiting, signal) {
  const { document } = window;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(RULES);
  document.adoptedStyleSheets.push(sheet);
  try {
    await atRest(document, isWaiting, signal);
    signal.throwIfAborted();
    const canvas = await canvasOf(document.body);
    return cut(canvas, inSight(canvas, window));
  } finally {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
  }
}

/** @returns {Promise<void>} resolves once the page has stopped changing, or on abort */
function atRest(document, isWaiting, signal) {
  return new Promise((resolve) => {
    let timer = 0;
    const done = () => {
      signal.removeEventListener("abort", done);
      changes.disconnect();
      clearTimeout(timer);
      clearTimeout(latest);
      resolve();
    };
    const again = () => {
      clearTimeout(timer);
      timer = setTimeout(() => (isWaiting() ? again() : done()), REST_MS);
    };
    const changes = new MutationObserver(again);
    const latest = setTimeout(done, LONGEST_MS);
    signal.addEventListener("abort", done);
    changes.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    again();
  });
}

/** A pixel is paper if none of its colours is below this, of 255. */
const PAPER = 250;
/** White around a picture, in CSS pixels. */
const MARGIN_PX = 4;

/** @returns {{left: number, top: number, width: number, height: number}} the part of the window that is not white, in the canvas's pixels */
function inSight(canvas, { scrollX, scrollY, innerWidth, innerHeight }) {
  const [x, y] = [scrollX * IMAGE_SCALE, scrollY * IMAGE_SCALE];
  const wide = Math.min(innerWidth * IMAGE_SCALE, canvas.width - x);
  const high = Math.min(innerHeight * IMAGE_SCALE, canvas.height - y);
  const { data } = canvas.getContext("2d").getImageData(x, y, wide, high);
  const box = inked(data, wide);
  const margin = MARGIN_PX * IMAGE_SCALE;
  const [first, above] = [Math.max(0, box.left - margin), Math.max(0, box.top - margin)];
  return {
    left: x + first,
    top: y + above,
    width: Math.min(wide, box.right + margin) - first,
    height: Math.min(high, box.bottom + margin) - above,
  };
}

/**
 * @param {Uint8ClampedArray} data red, green, blue and alpha of each pixel, in rows
 * @param {number} width of a row, in pixels
 * @returns {{left: number, top: number, right: number, bottom: number}} the smallest box with all pixels that are not white. Pure
 * @throws {RangeError} when all are white
 */
export function inked(data, width) {
  const box = { left: width, top: data.length, right: 0, bottom: 0 };
  for (let at = 0; at < data.length; at += 4) {
    if (Math.min(data[at], data[at + 1], data[at + 2]) >= PAPER || data[at + 3] === 0) continue;
    const [x, y] = [(at / 4) % width, Math.floor(at / 4 / width)];
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x + 1);
    box.top = Math.min(box.top, y);
    box.bottom = y + 1;
  }
  if (box.bottom === 0) throw new RangeError(msg`The page shows nothing.`);
  return box;
}

function cut(canvas, { left, top, width, height }) {
  const piece = Object.assign(document.createElement("canvas"), { width, height });
  piece.getContext("2d").drawImage(canvas, -left, -top);
  return { url: piece.toDataURL("image/png"), width: width / IMAGE_SCALE, height: height / IMAGE_SCALE };
}
