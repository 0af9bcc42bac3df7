/** The keys of a lesson. They work while the focus is in the prose: the picture has its own keys. */

import { msg } from "../../shared/words/msg.js";

/** The keys as the page's help lists them. */
export const KEYS = [
  { label: "→ Space", text: msg`next step` },
  { label: "←", text: msg`step before` },
];

/** @param {KeyboardEvent} event @param {{back: () => void, next: () => void}} moves */
export function lessonKey(event, { back, next }) {
  const { target, key, defaultPrevented, altKey, ctrlKey, metaKey } = event;
  if (defaultPrevented || altKey || ctrlKey || metaKey) return;
  const typing = target instanceof Element && target.closest("input, textarea, select, button, a, [role=button]");
  const moves = { ArrowRight: next, ArrowLeft: back, " ": next, PageDown: next, PageUp: back };
  if (!Object.hasOwn(moves, key) || (typing && !key.startsWith("Page"))) return;
  event.preventDefault();
  moves[key]();
}
