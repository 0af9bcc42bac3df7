/** A page of its own beside the Stage, alone or inside another page: its theme, and how high its frame would have to be. */

import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { embeddedTheme, preferredTheme, rememberTheme } from "../shared/state/theme.js";
import { embedOfSearch } from "./protocol.js";
import { tellHeight } from "./tell-height.js";

/**
 * @param {Function} Page gets `props`, `framed`, `theme` and `setTheme`
 * @param {{framed: boolean, settings: Object, props: Object}} options `framed`: inside another page; `settings`: of `storageOr`
 */
export function mountOwnPage(Page, { framed, settings, props }) {
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const first = framed
    ? embeddedTheme(embedOfSearch(window.location.search).theme, systemDark)
    : preferredTheme(settings, systemDark);

  function Whole() {
    const [theme, setTheme] = useState(first);
    // Before anything is rendered in it: drawings read their colours off the page.
    document.documentElement.dataset.theme = theme;
    const choose = (next) => {
      rememberTheme(settings, next);
      setTheme(next);
    };
    useEffect(() => (framed ? tellHeight() : undefined), []);
    return html`<${Page} ...${props} framed=${framed} theme=${theme} setTheme=${choose} />`;
  }

  render(html`<${Whole} />`, document.getElementById("page"));
}
