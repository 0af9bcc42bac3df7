/** One line of the source: its number, its text with the names of tensors, and what it computed. */

import { html } from "htm/preact";
import { msg } from "../words/msg.js";
import { namesOn } from "./places.js";
import { nameOf, shapeOf, sizesOf } from "./tensors.js";

/**
 * @param {Object} props
 * @param {number} props.number from 1
 * @param {import("./source.js").Part[]} props.line
 * @param {string} props.marks its classes
 * @param {string} props.lit names that are lit on this line, separated by spaces
 * @param {import("./tensors.js").Tensor[]|null} props.tensors of the step; null: none, or not known yet
 * @param {import("./tensors.js").Tensor[]|null} [props.others] of the other step shown, if there is one
 */
export function CodeLine({ number, line, marks, lit, tensors, others }) {
  const names = namesOn(line);
  const shining = lit.split(" ");
  return html`<li class=${`code-line ${marks}`} id=${`code-${number}`}>
    ${
      names.length
        ? html`<button type="button" tabindex="-1" class="code-number" data-names-of=${names.join(" ")} aria-label=${msg`Line ${number}: find ${names.join(", ")} in the picture`}>${number}</button>`
        : html`<span class="code-number">${number}</span>`
    }
    <code class="code-text">${line.map(([text, kind = "", of = null]) => partOf(text, kind, of, shining))}</code>
    <${Shapes} tensors=${tensors} />${others !== undefined && html`<${Shapes} tensors=${others} />`}
  </li>`;
}

function partOf(text, kind, names, shining) {
  const marks = [kind && `is-${kind}`, names?.some((name) => shining.includes(name)) && "is-lit"]
    .filter(Boolean)
    .join(" ");
  if (names)
    return html`<b class=${`code-name ${marks}`} data-names-of=${names.join(" ")} title=${names.join(", ")}>${text}</b>`;
  return marks ? html`<span class=${marks}>${text}</span>` : text;
}

function Shapes({ tensors }) {
  if (!tensors) return html`<span class="code-shapes"></span>`;
  return html`<span class="code-shapes">
    ${tensors.map((tensor) => html`<span class="nowrap"><i>${nameOf(tensor)}</i> ${shapeOf(tensor)}</span> `)}
    <small class="nowrap">${sizesOf(tensors)}</small>
  </span>`;
}
