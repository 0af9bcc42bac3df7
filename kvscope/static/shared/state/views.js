/**
 * The views of the inspector, each a `view` in the address. The four zooms are nested, outermost first; the three panels are
 * those of the strip, enlarged.
 */

import { msg } from "../words/msg.js";

export const ZOOMS = ["model", "block", "head", "pair"];
/** Names of panels by id. */
export const PANEL_NAMES = { tokens: msg`Next token`, cache: msg`Cache`, time: msg`Time`, effects: msg`Effects` };
/** Panels that are tabs where the page is narrow. */
export const TABBED = ["tokens", "cache", "time"];
const PANELS = Object.keys(PANEL_NAMES);
/** `intro`: the first thirty seconds, which replace the whole stage. */
export const VIEWS = [...ZOOMS, ...PANELS, "intro"];

/** Views that need most of the Stage: the map becomes a narrow strip beside them. */
const WIDE = ["model", "block", ...PANELS];

const NAMES = {
  model: msg`model`,
  block: msg`block`,
  head: msg`head`,
  pair: msg`query·key`,
  tokens: msg`tokens`,
  cache: msg`cache`,
  time: msg`time`,
  effects: msg`effects`,
  intro: msg`intro`,
};

/** @returns {string} a view's name in a sentence or a list */
export function viewName(view) {
  return NAMES[view];
}

export function isWide(view) {
  return WIDE.includes(view);
}

/** @returns {string} one zoom further in; the innermost stays */
export function zoomIn(view) {
  return ZOOMS[Math.min(ZOOMS.indexOf(view) + 1, ZOOMS.length - 1)];
}

/**
 * Applies Escape: unlocks the query and key of a head, otherwise zooms out once.
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
