/** Mounts a page other than the Stage, alone or inside another page: its theme, and the height that its frame should have. */

import { html } from "htm/preact";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { useOwnTheme } from "../shared/ui/own-theme.js";
import { joinLesson, litStore } from "./page-picture.js";
import { isPicture } from "./picture.js";
import { embedOfSearch, sizeMessages } from "./protocol.js";

/**
 * @param {Function} Page gets `props`, `framed`, `theme`, `setTheme` and `lights`: of `litStore`
 * @param {{framed: boolean, settings: Object, props: Object, hasEnded?: () => boolean}} options `framed`: inside another page; `settings`: of `storageOr`;
 *   `hasEnded`: whether the page shows a complete result
 */
export function mountOwnPage(Page, { framed, settings, props, hasEnded = () => true }) {
  // Before the page changes its address.
  const picture = isPicture(window);
  const themeOfEmbed = framed ? embedOfSearch(window.location.search).theme : null;

  const lights = litStore();

  function Whole() {
    const [theme, setTheme] = useOwnTheme(settings, themeOfEmbed);
    useEffect(() => {
      if (picture) return joinLesson({ window, setTheme, lights, hasEnded });
      return framed ? tellHeight() : undefined;
    }, []);
    return html`<${Page} ...${props} framed=${framed} theme=${theme} setTheme=${setTheme} lights=${lights} />`;
  }

  render(html`<${Whole} />`, document.getElementById("page"));
}

/**
 * Tells the page around an embed the height that its frame should have, now and whenever it changes.
 *
 * @returns {() => void} stops telling
 */
function tellHeight() {
  const tell = () => {
    for (const message of sizeMessages(Math.ceil(document.body.scrollHeight))) window.parent.postMessage(message, "*");
  };
  const observer = new ResizeObserver(tell);
  observer.observe(document.body);
  return () => observer.disconnect();
}
