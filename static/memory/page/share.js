/** A link, the text that puts the calculator into another page, and paper. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { snippet } from "../../embed/snippets.js";
import { Copied } from "../../ui/copied.js";

const WIDTH_PX = 900;
const HEIGHT_PX = 640;

/** @param {{search: string}} props */
export function Share({ search }) {
  const dialog = useRef(null);
  const at = (path) => new URL(path, window.location.href).href;
  const text = snippet("html", {
    ...{ address: at(`/embed/memory${search}`), script: at("/static/embed.js"), title: "Memory of a KV cache" },
    ...{ width: WIDTH_PX, height: HEIGHT_PX },
  });
  const print = () => {
    dialog.current.close();
    window.print();
  };
  return html`<button type="button" class="strong-button" onClick=${() => dialog.current.showModal()}>Share, print</button>
    <dialog class="share memory-share" aria-label="Share, print" ref=${dialog}>
      <h2>Share these numbers</h2>
      <p class="quiet">All that was chosen is in the address: nothing is stored.</p>
      <${Copied} name="Link" value=${at(`/memory${search}`)} />
      <${Copied} name="Text to paste into a page" value=${text} lines />
      <form method="dialog" class="memory-tools"><button type="button" class="plain-button" onClick=${print}>Print</button><button class="plain-button">Close</button></form>
    </dialog>`;
}
