/** The style rules that hide what a focus does not name. `data-holds`: names of tensors inside a drawing. Pure. */

import { lasting } from "../state/focus.js";

/** Selectors of the parts of the page. */
const PLACES = {
  sentence: ".timeline > :not(.play-row)",
  overview: ".overview",
  steps: ".play-row",
  map: ".panel-map",
  "next-token": ".panel-next-token",
  "kv-cache": ".panel-kv-cache",
  time: ".panel-time",
};

/**
 * @param {string[]} focus names of parts that the page or its view has
 * @param {(name: string) => string} escaped a name as a selector writes it
 * @returns {string} CSS
 */
export function rulesFor(focus, escaped) {
  const ofPage = lasting(focus);
  const named = focus
    .filter((name) => !ofPage.includes(name))
    .map((name) => `[data-names~="${escaped(name)}"],[data-holds~="${escaped(name)}"]`);
  const hidden = Object.entries(PLACES).flatMap(([name, place]) => (focus.includes(name) ? [] : [place]));
  if (!focus.includes("sentence") && !focus.includes("steps")) hidden.push(".timeline");
  if (!focus.includes("inspector")) {
    if (named.length === 0) hidden.push(".panel-inspector");
    else {
      const parts = `:is(${named.join()})`;
      // Not language: selectors. A dialog that a part opens is inside of its view.
      const shown = `${parts}, ${parts} *, :has(dialog[open]), dialog, dialog *`;
      hidden.push(".inspector > :not(.view, .empty)", ".panel-inspector > :not(.inspector)");
      hidden.push(`.view :not(:has(${parts}), ${shown})`);
    }
  }
  // Not language: a rule.
  return hidden.length ? `${hidden.map((place) => `:root[data-focus] ${place}`).join()}{display:none!important}` : "";
}
