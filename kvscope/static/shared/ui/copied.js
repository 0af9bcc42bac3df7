/** A text field with a Copy button. Without access to the clipboard, it selects the text for Ctrl+C. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { msg } from "../words/msg.js";

/** @type {Object<string, (name: string) => {text: string, label: string}>} */
const BUTTON = {
  idle: (name) => ({ text: msg`Copy`, label: msg`Copy ${name}` }),
  copied: (name) => ({ text: msg`Copied`, label: msg`Copied ${name}` }),
  manual: (name) => ({ text: msg`Press Ctrl+C`, label: msg`Press Ctrl+C to copy ${name}` }),
};

/** @param {{name: string, value: string, lines?: boolean}} props `lines`: whether the text may have several lines */
export function Copied({ name, value, lines = false }) {
  const [status, setStatus] = useState("idle");
  const { text, label } = BUTTON[status](name);
  const field = useRef(null);
  useEffect(() => setStatus("idle"), [value]);
  const copy = async () => {
    field.current.select();
    try {
      await navigator.clipboard.writeText(value);
      setStatus("copied");
    } catch {
      setStatus("manual");
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
    <button class="button" type="button" onClick=${copy}><span aria-hidden="true">${text}</span><span class="visually-hidden">${label}</span></button>
    <span class="visually-hidden" role="status">${status !== "idle" && text}</span>
  </div>`;
}
