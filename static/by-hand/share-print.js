/** A link, the text that puts the example into another page, and the worksheet on paper. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { snippet } from "../embed/snippets.js";
import { Copied } from "../ui/copied.js";

const WIDTH_PX = 900;
const HEIGHT_PX = 640;

/** @param {{example: "a"|"b", title: string, search: string}} props */
export function SharePrint({ example, title, search }) {
  const dialog = useRef(null);
  const at = (path) => new URL(path, window.location.href).href;
  const text = snippet("html", {
    ...{ address: at(`/embed/by-hand/${example}${search}`), script: at("/static/embed.js"), title },
    ...{ width: WIDTH_PX, height: HEIGHT_PX },
  });
  const print = (sheet) => {
    dialog.current.close();
    document.documentElement.dataset.worksheet = sheet;
    window.print();
    delete document.documentElement.dataset.worksheet;
  };
  return html`<button type="button" class="strong-button" onClick=${() => dialog.current.showModal()}>Share, print</button>
    <dialog class="share by-hand-share" aria-label="Share, print" ref=${dialog}>
      <h2>Share these numbers</h2>
      <p class="quiet">All that was changed is in the address: nothing is stored.</p>
      <${Copied} name="Link" value=${at(`/by-hand/${example}${search}`)} />
      <${Copied} name="Text to paste into a page" value=${text} lines />
      <h2>On paper</h2>
      <p class="by-hand-tools">
        <button type="button" class="plain-button" onClick=${() => print("blank")}>Print worksheet</button>
        <button type="button" class="plain-button" onClick=${() => print("answers")}>Print with answers</button>
      </p>
      <form method="dialog"><button class="plain-button">Close</button></form>
    </dialog>`;
}
