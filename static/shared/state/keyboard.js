/** The keys of the page: one table, used by the listener and by the help. */

import { canAsk } from "./asking.js";
import { backFrom, zoomIn, zoomOut } from "./views.js";

const step = (name, change) => (state) => ({ [name]: Math.max(0, state.selection[name] + change) });

const zoom = (change) => (state) => ({ view: change(state.selection.view) });

/** `run` gets {controller, store}. Keys are `KeyboardEvent.key` values. */
export const KEYS = [
  { keys: [" "], label: "Space", text: "Play or pause", run: ({ controller }) => controller.toggle() },
  { keys: ["ArrowLeft"], label: "←", text: "Previous step", run: ({ controller }) => controller.previous() },
  { keys: ["ArrowRight"], label: "→", text: "Next step", run: ({ controller }) => controller.next() },
  { keys: ["."], label: ".", text: "Next layer: walk a step one layer at a time", run: walk(1) },
  { keys: [","], label: ",", text: "Previous layer", run: walk(-1) },
  { keys: ["Home"], label: "Home", text: "First step: prefill", run: ({ controller }) => controller.first() },
  { keys: ["End"], label: "End", text: "Newest step", run: ({ controller }) => controller.last() },
  { keys: ["ArrowUp"], label: "↑", text: "One layer up", run: select(step("layer", 1)) },
  { keys: ["ArrowDown"], label: "↓", text: "One layer down", run: select(step("layer", -1)) },
  { keys: ["]"], label: "]", text: "Next head", run: select(step("head", 1)) },
  { keys: ["["], label: "[", text: "Previous head", run: select(step("head", -1)) },
  { keys: ["+", "="], label: "+", text: "Zoom in: model, layer, head, query·key", run: select(zoom(zoomIn)) },
  { keys: ["-"], label: "−", text: "Zoom out", run: select(zoom(zoomOut)) },
  {
    keys: ["Escape"],
    label: "Esc",
    text: "Let go of the locked query and key, or zoom out",
    run: select(({ selection }) => backFrom(selection)),
  },
  {
    keys: ["m"],
    label: "m",
    text: "To the map; Enter there goes into the head",
    run: () => focusOn("#map-grid"),
  },
  { keys: ["/"], label: "/", text: "A prompt of your own", run: ask },
  {
    keys: ["?"],
    label: "?",
    text: "This list",
    run: ({ store }) => openHelp(store.dispatch),
  },
];

/** What plays stands still behind it. */
export function openHelp(dispatch) {
  dispatch({ type: "pause" });
  /** @type {HTMLDialogElement} */ (document.querySelector("#help")).showModal();
}

/** Once it is there it takes the focus by itself. */
function ask({ store }) {
  if (store.state().asking) focusOn("#prompt");
  else if (canAsk(store.state())) store.dispatch({ type: "ask", asking: true });
}

function focusOn(selector) {
  /** @type {HTMLElement|null} */ (document.querySelector(selector))?.focus();
}

function select(selectionOf) {
  return ({ store }) => store.dispatch({ type: "select", selection: selectionOf(store.state()) });
}

function walk(change) {
  return ({ store }) => store.dispatch({ type: "walk", change });
}

/**
 * Elements that have a use of their own for a key.
 *
 * @type {[string, (key: string) => boolean][]}
 */
const OWN_KEYS = [
  ["textarea, select, dialog, input:not([type=range], [type=checkbox])", () => true],
  ["button, input[type=checkbox], a, summary", (key) => key === " "],
  [
    "input[type=range], [role=grid], [role=group][tabindex]",
    (key) => key.startsWith("Arrow") || key === "Home" || key === "End",
  ],
];

/** @returns {boolean} whether a key pressed there is for something else than the page */
function isTaken({ target, key, defaultPrevented, ctrlKey, metaKey, altKey }) {
  if (defaultPrevented || ctrlKey || metaKey || altKey) return true;
  return OWN_KEYS.some(([selector, has]) => target.closest?.(selector) && has(key));
}

/**
 * @param {{keys: string[], run: (parts: Object) => void}[]} [table] of the page; the Stage's
 * @returns {() => void} removes the listener
 */
export function listenToKeys(target, parts, table = KEYS) {
  const onKey = (event) => {
    if (isTaken(event)) return;
    const key = table.find(({ keys }) => keys.includes(event.key));
    if (!key) return;
    event.preventDefault();
    key.run(parts);
  };
  target.addEventListener("keydown", onKey);
  return () => target.removeEventListener("keydown", onKey);
}
