/**
 * Outlines the elements whose `data-names` has a lit name, and stores the names under the pointer. Elements declare only their names,
 * so that new ones are outlined too. A picture with `data-points` stores the names under the pointer itself.
 */

import { namesIn, sameNames } from "../state/lit.js";

/**
 * @param {Document} document
 * @param {{state: Function, subscribe: Function, dispatch: Function}} store with `lit` and `pointed`
 */
export function followLit(document, store) {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  let shown = [];
  const show = ({ lit }) => {
    if (lit === shown) return;
    shown = lit;
    const selectors = lit.map((name) => `[data-names~="${CSS.escape(name)}"]`);
    // Not language: a rule.
    sheet.replaceSync(selectors.length ? `${selectors.join()}{outline:2.5px solid var(--ink);outline-offset:2px}` : "");
  };
  show(store.state());
  store.subscribe(show);
  document.addEventListener("pointerover", ({ target }) => {
    const named = /** @type {Element} */ (target).closest("[data-names], [data-points]");
    if (named?.hasAttribute("data-points")) return;
    const names = namesIn(named?.getAttribute("data-names"));
    if (!sameNames(names, store.state().pointed)) store.dispatch({ type: "point", names });
  });
}
