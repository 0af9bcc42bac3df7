/** Shares a page whose state is its address: a link, the text that puts it into another page, and paper. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { Copied } from "../ui/copied.js";
import { snippet } from "./snippets.js";

const WIDTH_PX = 900;
const HEIGHT_PX = 640;

/**
 * @param {{path: string, title: string, say: string, prints: {name: string, sheet: string}[]}} props `path`: of the page, with
 *   its search; its embed has the same below /embed; `prints`: ways to print it, `sheet` is on the root element meanwhile
 */
export function ShareAddress({ path, title, say, prints }) {
  const dialog = useRef(null);
  const at = (address) => new URL(address, window.location.href).href;
  const text = snippet("html", {
    ...{ address: at(`/embed${path}`), script: at("/static/embed.js"), title },
    ...{ width: WIDTH_PX, height: HEIGHT_PX },
  });
  const print = (sheet) => {
    dialog.current.close();
    document.documentElement.dataset.worksheet = sheet;
    window.print();
    delete document.documentElement.dataset.worksheet;
  };
  return html`<button type="button" class="strong-button" onClick=${() => dialog.current.showModal()}>Share, print</button>
    <dialog class="share share-address" aria-label="Share, print" ref=${dialog}>
      <h2>Share these numbers</h2>
      <p class="quiet">${say}</p>
      <${Copied} name="Link" value=${at(path)} />
      <${Copied} name="Text to paste into a page" value=${text} lines />
      <h2>On paper</h2>
      <form method="dialog" class="own-tools">
        ${prints.map(({ name, sheet }) => html`<button key=${sheet} type="button" class="plain-button" onClick=${() => print(sheet)}>${name}</button>`)}
        <button class="plain-button">Close</button>
      </form>
    </dialog>`;
}
