/** The keys of a lesson. They count while the focus is in the prose: the picture has its own. */

import { msg } from "../../shared/words/msg.js";

/** For the page's help. */
export const KEYS = [
  { label: "→ Space", text: msg`next step` },
  { label: "←", text: msg`step before` },
];

/** @param {KeyboardEvent} event @param {{state: Object, go: (to: number) => void}} parts */
export function lessonKey(event, { state, go }) {
  const { target, key, defaultPrevented, altKey, ctrlKey, metaKey } = event;
  if (defaultPrevented || altKey || ctrlKey || metaKey) return;
  const typing = target instanceof Element && target.closest("input, textarea, select, button, a, [role=button]");
  const moves = { ArrowRight: 1, ArrowLeft: -1, " ": 1, PageDown: 1, PageUp: -1 };
  if (!Object.hasOwn(moves, key) || (typing && !key.startsWith("Page"))) return;
  event.preventDefault();
  go(state.index + moves[key]);
}
