/**
 * What of the page is in sight: `focus` of the selection has the names of parts, and null is the whole page. Parts are those of the
 * page, which embed/page-parts.json lists, and those of a view, which embed/picture.json lists. Pure.
 */

import PAGE_PARTS from "../../embed/page-parts.json" with { type: "json" };
import { inIntro } from "../../shared/state/intro.js";

/** `inspector`: the view, whole. */
const INSPECTOR = "inspector";
/** What a newcomer sees first. */
export const FIRST = PAGE_PARTS.slice(0, 2);

/** @returns {string[]|null} the parts of the page that stay in sight when the view is another */
export function lasting(focus) {
  return focus?.filter((name) => PAGE_PARTS.includes(name)) ?? null;
}

/** @returns {string[]|null} the focus with one more part; the whole page stays whole */
export function withPart(focus, name) {
  return focus && [...new Set([...focus, name])];
}

/**
 * Returns the focus after a change of the selection. Another view comes into sight beside the open parts of the page; who leaves the
 * intro sees the first parts, or the sentence and the view that answers a question.
 *
 * @param {Object} state of the store @param {Object} to what changes @returns {string[]|null}
 */
export function focusAfter(state, to) {
  const { view, focus } = state.selection;
  if (to.focus !== undefined) return to.focus?.length ? to.focus : null;
  if (!to.view || to.view === view) return focus;
  if (!inIntro(state)) return withPart(lasting(focus), INSPECTOR);
  if (state.embed) return null;
  return to.view === "head" && to.key === undefined ? FIRST : withPart(FIRST.slice(0, 1), INSPECTOR);
}
