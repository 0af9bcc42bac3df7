/** Shares a page whose state is its address: a link, the text that embeds it in another page, and print. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { linkTo } from "../shared/log/root.js";
import { Copied } from "../shared/ui/copied.js";
import { CloseButton } from "../shared/ui/form.js";
import { msg } from "../shared/words/msg.js";
import { snippet } from "./snippets.js";

const WIDTH_PX = 900;
const HEIGHT_PX = 640;

/**
 * @param {{path: string, framed?: string, title: string, name?: string, heading?: string, say: string, prints: {name: string, sheet: string}[],
 *   class?: string, children?: *}} props `path`: of the page, with its search; `framed`: path of its embed, by default the same below /embed; `name`: of
 *   the button; `prints`: ways to print the page, which set `data-worksheet` of the root element to `sheet`, if it has no button for that
 */
export function ShareAddress({
  path,
  framed = `/embed${path}`,
  title,
  name = msg`Share, print`,
  heading = msg`Share these numbers`,
  say,
  prints,
  class: className = "button is-main",
  children = null,
}) {
  const dialog = useRef(null);
  const text = snippet("html", {
    ...{ address: linkTo(framed), script: linkTo("/static/embed.js"), title },
    ...{ width: WIDTH_PX, height: HEIGHT_PX },
  });
  const print = (sheet) => {
    dialog.current.close();
    document.documentElement.dataset.worksheet = sheet;
    window.print();
    delete document.documentElement.dataset.worksheet;
  };
  return html`<button type="button" class=${className} onClick=${() => dialog.current.showModal()}>${name}</button>
    <dialog class="share popover share-address" aria-label=${name} ref=${dialog}>
      <h2>${heading}</h2>
      <p class="muted">${say}</p>
      <${Copied} name=${msg`Link`} value=${linkTo(path)} />
      <${Copied} name=${msg`Text to paste into a page`} value=${text} lines />
      ${children}
      ${prints.length > 0 && html`<h2>${msg`Print`}</h2>`}
      <p class="own-tools row">
        ${prints.map(({ name, sheet }) => html`<button key=${sheet} type="button" class="button" onClick=${() => print(sheet)}>${name}</button>`)}
        <${CloseButton}>${msg`Close`}<//>
      </p>
    </dialog>`;
}
