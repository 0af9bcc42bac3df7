/**
 * What the inspector can show, each a `view` of the address. The four zooms are nested, outermost first; the three
 * panels are the strip's, opened large.
 */

export const ZOOMS = ["model", "block", "head", "pair"];
/** Panels with their names. */
export const PANEL_NAMES = { tokens: "Next token", cache: "Cache", time: "Time" };
const PANELS = Object.keys(PANEL_NAMES);
/** `intro`: the first thirty seconds, in place of the whole stage. */
export const VIEWS = [...ZOOMS, ...PANELS, "intro"];

/** Views that need most of the stage: the map becomes a rail beside them. */
const WIDE = ["model", "block", ...PANELS];

/** @returns {string} how a view is called in a sentence or a list */
export function viewName(view) {
  return view === "pair" ? "query·key" : view;
}

export function isWide(view) {
  return WIDE.includes(view);
}

/** @returns {string} one zoom further in; the innermost stays */
export function zoomIn(view) {
  return ZOOMS[Math.min(ZOOMS.indexOf(view) + 1, ZOOMS.length - 1)];
}

/**
 * What Escape does: lets go of a query or key that is locked in a head, otherwise goes one zoom further out.
 *
 * @returns {Object} the part of the selection that changes
 */
export function backFrom({ view, query, key }) {
  if (view === "head" && (query !== null || key !== null)) return { query: null, key: null };
  return { view: zoomOut(view) };
}

/** @returns {string} one zoom further out; a panel, and the intro, go back to the head */
export function zoomOut(view) {
  return !ZOOMS.includes(view) ? "head" : ZOOMS[Math.max(ZOOMS.indexOf(view) - 1, 0)];
}
