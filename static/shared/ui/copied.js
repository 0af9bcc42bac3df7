/** A field to copy from. Where the browser gives no clipboard, its text is marked, ready for the keys. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** @param {{name: string, value: string, lines?: boolean}} props `lines`: the text may have several */
export function Copied({ name, value, lines = false }) {
  const [said, setSaid] = useState("");
  const field = useRef(null);
  useEffect(() => setSaid(""), [value]);
  const copy = async () => {
    field.current.select();
    try {
      await navigator.clipboard.writeText(value);
      setSaid("Copied");
    } catch {
      setSaid("Press Ctrl+C");
    }
  };
  return html`<div class=${lines ? "share-copy has-lines" : "share-copy"}>
    <label class="share-field stack tight"
      ><span>${name}</span>${
        lines
          ? html`<textarea readonly rows="6" spellcheck=${false} ref=${field} value=${value}></textarea>`
          : html`<input type="text" readonly ref=${field} value=${value} />`
      }</label
    >
    <button class="button" type="button" onClick=${copy}>${said || "Copy"}<span class="visually-hidden"> ${name.toLowerCase()}</span></button>
    <span class="visually-hidden" role="status">${said}</span>
  </div>`;
}
