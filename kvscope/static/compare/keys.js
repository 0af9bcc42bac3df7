/** The keys of the page: as on the Stage. */

import { comparisonOf } from "../shared/compare/alignment.js";
import { msg } from "../shared/words/msg.js";
import { momentAt } from "./comparison.js";
import { isComparable } from "./state.js";

const step = (change) => move((at) => at + change);

/** @param {(at: number, last: number) => number} to */
function move(to) {
  return ({ store }) => {
    const { a, b, place } = store.state();
    if (!isComparable(store.state())) return;
    const aligned = comparisonOf(a.log, b.log);
    const last = aligned.moments.length - 1;
    const moment = Math.min(Math.max(to(momentAt(aligned, place), last), 0), last);
    if (last >= 0) store.dispatch({ type: "place", place: { moment } });
  };
}

const select =
  (name, change) =>
  ({ store }) => {
    const { a, place } = store.state();
    if (!a.log?.open) return;
    const count = name === "layer" ? a.log.layers : a.log.heads;
    const now = place[name] ?? (name === "layer" ? count - 1 : 0);
    store.dispatch({ type: "place", place: { [name]: Math.min(Math.max(now + change, 0), count - 1) } });
  };

/** `run` gets {store}. Keys are `KeyboardEvent.key` values. */
export const KEYS = [
  { keys: ["ArrowLeft"], label: "←", text: msg`Previous step`, run: step(-1) },
  { keys: ["ArrowRight"], label: "→", text: msg`Next step`, run: step(1) },
  { keys: ["Home"], label: "Home", text: msg`First step`, run: move(() => 0) },
  { keys: ["End"], label: "End", text: msg`Newest step`, run: move((_at, last) => last) },
  { keys: ["ArrowUp"], label: "↑", text: msg`One layer up`, run: select("layer", 1) },
  { keys: ["ArrowDown"], label: "↓", text: msg`One layer down`, run: select("layer", -1) },
  { keys: ["]"], label: "]", text: msg`Next head`, run: select("head", 1) },
  { keys: ["["], label: "[", text: msg`Previous head`, run: select("head", -1) },
];
