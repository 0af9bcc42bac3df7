/**
 * A change as the address writes it: its op, its site, then names and values of the fields that are not as usual, as the API calls them:
 * `zero head layer 13 head 8`, `patch residual layer 4 source "The sky"`. Pure.
 */

/** Fields after op and site, with what they are where nothing is said. */
export const USUAL = { layer: null, head: null, position: null, from_step: 0, factor: 1, source: null, away: null };

/** @param {import("../../shared/facts/changes.js").Change} change @returns {string} */
export function changeText({ op, site, ...fields }) {
  const said = Object.entries(USUAL).filter(([name, usual]) => (fields[name] ?? usual) !== usual);
  return [op, site, ...said.map(([name]) => `${name} ${JSON.stringify(fields[name])}`)].join(" ");
}
