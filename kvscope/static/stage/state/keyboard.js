/** The keys of the Stage, for the listener and the help. */

import { DIALOG_KEYS } from "../../shared/state/dialog-keys.js";
import { backFrom, zoomIn, zoomOut } from "../../shared/state/views.js";
import { msg } from "../../shared/words/msg.js";
import { canAsk, hasCode } from "./run-request.js";

const step = (name, change) => (state) => ({ [name]: Math.max(0, state.selection[name] + change) });

const zoom = (change) => (state) => ({ view: change(state.selection.view) });

/** `run` gets {controller, store, openSearch, openHelp}. Keys are `KeyboardEvent.key` values. */
export const KEYS = [
  { keys: [" "], label: msg`Space`, text: msg`Play or pause`, run: ({ controller }) => controller.toggle() },
  { keys: ["ArrowLeft"], label: "←", text: msg`Previous step`, run: ({ controller }) => controller.previous() },
  { keys: ["ArrowRight"], label: "→", text: msg`Next step`, run: ({ controller }) => controller.next() },
  { keys: ["."], label: ".", text: msg`Next layer of this step`, run: walk(1) },
  { keys: [","], label: ",", text: msg`Previous layer`, run: walk(-1) },
  { keys: ["Home"], label: "Home", text: msg`First step: prefill`, run: ({ controller }) => controller.first() },
  { keys: ["End"], label: "End", text: msg`Newest step`, run: ({ controller }) => controller.last() },
  { keys: ["ArrowUp"], label: "↑", text: msg`One layer up`, run: select(step("layer", 1)) },
  { keys: ["ArrowDown"], label: "↓", text: msg`One layer down`, run: select(step("layer", -1)) },
  { keys: ["]"], label: "]", text: msg`Next head`, run: select(step("head", 1)) },
  { keys: ["["], label: "[", text: msg`Previous head`, run: select(step("head", -1)) },
  { keys: ["+", "="], label: "+", text: msg`Zoom in: model, layer, head, query·key`, run: select(zoom(zoomIn)) },
  { keys: ["-"], label: "−", text: msg`Zoom out`, run: select(zoom(zoomOut)) },
  {
    keys: ["Escape"],
    label: "Esc",
    text: msg`Unlock the query and key, or zoom out`,
    run: select(({ selection }) => backFrom(selection)),
  },
  {
    keys: ["m"],
    label: "m",
    text: msg`Go to the map; Enter there opens the head`,
    run: () => focusOn("#map-grid"),
  },
  { keys: ["c"], label: "c", text: msg`Open or close the code`, run: toggleCode },
  { keys: ["x"], label: "x", text: msg`Open or close the changes of this run`, run: toggleChanges },
  { keys: ["p"], label: "p", text: msg`Write your own prompt`, run: ask },
  ...DIALOG_KEYS,
];

/** A new prompt field focuses itself. */
function ask({ store }) {
  if (store.state().asking) focusOn("#prompt");
  else if (canAsk(store.state())) store.dispatch({ type: "ask", asking: true });
}

function toggleCode({ store }) {
  const state = store.state();
  if (hasCode(state)) store.dispatch({ type: "code", open: !state.code });
}

function toggleChanges({ store }) {
  const { changing, run } = store.state();
  if (!run?.open || !canAsk(store.state())) return;
  store.dispatch({ type: changing?.open ? "changingClosed" : "changing" });
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
