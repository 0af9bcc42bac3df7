/** The keys of the Stage: one table, used by the listener and by the help. */

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
