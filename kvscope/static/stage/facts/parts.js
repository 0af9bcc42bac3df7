/** The parts of the Stage and of its views, as embed/page-parts.json and picture.json list them. Pure. */

import PAGE_PARTS from "../../embed/page-parts.json" with { type: "json" };
import PICTURES from "../../embed/picture.json" with { type: "json" };

const STAGE = PICTURES.find(({ paths }) => paths.includes("/"));

/** @returns {string[]} the parts of a view that are drawn, by name */
export function partsOf(view) {
  return STAGE.views[view].parts;
}

/** @returns {string|null} the first name in a focus that neither the page nor its view has */
export function unknownIn({ view, focus }) {
  return focus.find((name) => !PAGE_PARTS.includes(name) && !partsOf(view).includes(name)) ?? null;
}

/** @returns {string[]} the focus with the parts of its view that have these names */
export function withNamed({ view, focus }, names) {
  return [...new Set([...focus, ...names.filter((name) => partsOf(view).includes(name))])];
}
