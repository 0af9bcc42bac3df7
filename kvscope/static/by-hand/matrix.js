/** A matrix in brackets, with its tokens as row and column headings. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { msg } from "../shared/words/msg.js";
import { cellName } from "./blocks.js";
import { namesOf } from "./names.js";
import { cellText } from "./numbers.js";
import { kindOf } from "./table.js";

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const STEP = 0.1;

/**
 * @param {{block: Object, first: boolean, shown: Object, actions: Object}} props `first`: whether it is the first in its
 *   line and shows the row headings; `shown`: the state that page.js passes to all blocks
 */
export function Matrix({ block, first, shown, actions }) {
  const { table, phase } = shown;
  const body = useRef(null);
  const divides = block.axis === "rows";
  const stop = stopOf(block, shown);
  const onKeyDown = (event) => {
    const [down, right] = ARROWS[event.key] ?? [0, 0];
    const at = event.target.dataset?.cell;
    if ((!down && !right) || !at || event.target.localName === "input") return;
    event.preventDefault();
    const [, row, column] = at.split(":").map(Number);
    const next = body.current.querySelector(`[data-cell="${cellName(block.name, row + down, column + right)}"]`);
    next?.focus();
    if (next) actions.select(next.dataset.cell);
  };
  return html`<figure class="matrix is-${block.tone}" data-names=${namesOf(block.name, table.whole).join(" ") || null}>
    <figcaption><${Title} text=${block.title} /></figcaption>
    <table onKeyDown=${onKeyDown} ref=${body}>
      <thead class=${block.columns ? "" : "visually-hidden"}>
        <tr>
          <td class=${first ? "" : "matrix-beside"}></td>
          ${(block.columns ?? block.values[0].map((_, at) => String(at + 1))).map((word) => html`<th scope="col"><bdi>${word}</bdi></th>`)}
        </tr>
      </thead>
      <tbody>
        ${block.values.map(
          (row, r) => html`<tr key=${r} class=${divides && r === table.prompt ? "is-new-row" : ""}>
            <th scope="row" class=${`${first ? "" : "matrix-beside"} ${block.axis === "rows" ? "" : "is-number"}`}><bdi>${block.rows[r]}</bdi></th>
            ${row.map((value, c) => {
              const name = cellName(block.name, r, c);
              return html`<td key=${c}><${Cell}
                name=${name} value=${value} kind=${kindOf(table, name, phase)} label=${block.label(r, c)}
                shares=${block.shares === true} stop=${name === stop} shown=${shown} actions=${actions} /></td>`;
            })}
          </tr>`,
        )}
      </tbody>
    </table>
    ${block.note && html`<p class="matrix-note centred muted small">${block.note}</p>`}
  </figure>`;
}

/** The one cell of a block that Tab reaches; arrow keys reach the others. */
function stopOf(block, { table, phase, cell }) {
  if (cell?.startsWith(`${block.name}:`)) return cell;
  const names = block.values.flatMap((row, r) => row.map((_, c) => cellName(block.name, r, c)));
  return names.findLast((each) => kindOf(table, each, phase) !== "absent");
}

/** "W_Q" with Q as a subscript, "K^T" with T as a superscript. */
export function Title({ text }) {
  const [, plain, low, high] = /^([^_^]*)(?:_(\w+))?(?:\^(\w+))?(.*)$/.exec(text);
  return html`${plain}${low && html`<sub>${low}</sub>`}${high && html`<sup>${high}</sup>`}`;
}

function Cell({ name, value, kind, label, shares, stop, shown, actions }) {
  if (kind === "absent") return html`<span class="cell centred is-absent" aria-hidden="true"></span>`;
  const { cell, solid, dashed, hidden, changed } = shown;
  const marks = [
    ...["cell", `is-${kind}`],
    ...(cell === name ? ["is-selected"] : []),
    ...(solid.has(name) ? ["is-solid"] : dashed.has(name) ? ["is-dashed"] : []),
    ...(changed.has(name) ? ["is-changed"] : []),
  ].join(" ");
  if (kind === "input") return html`<${Input} ...${{ name, value, label, marks, shown, actions }} />`;
  const secret = hidden.has(name);
  const shaded = shares && !secret && kind !== "masked";
  const text = secret ? "?" : kind === "masked" && value === 0 ? "0" : cellText(value);
  const title = secret || kind === "masked" ? null : String(value);
  return html`<button
    type="button" class=${`${marks}${secret ? " is-hidden" : ""}${shaded ? " is-share" : ""}`} style=${shaded ? { "--share": value } : null} data-cell=${name} tabindex=${stop ? 0 : -1} title=${title}
    aria-label=${spoken(label, secret ? msg`hidden` : text, changed.has(name))} aria-pressed=${cell === name}
    onClick=${() => actions.select(name)}
  >${text}</button>`;
}

const spoken = (label, value, changed) => (changed ? msg`${label}: ${value}, changed` : msg`${label}: ${value}`);

/** A field requests a number while it is typed, and any other text when it loses focus; that text then stays in the field. */
function Input({ name, value, label, marks, shown, actions }) {
  const [draft, setDraft] = useState("");
  const [focused, setFocused] = useState(false);
  const wrong = shown.wrong?.cell === name;
  const type = (text) => {
    setDraft(text);
    actions.edit(name, text);
  };
  const onKeyDown = (event) => {
    if (event.key === "Enter") actions.settle(name, draft);
    if (event.key === "Escape") {
      setDraft(String(value));
      actions.forget();
    }
    const step = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (!step) return;
    event.preventDefault();
    type(String(Math.round((value + step) * 1000) / 1000));
  };
  return html`<input
    class=${marks} data-cell=${name} inputmode="decimal" autocomplete="off" spellcheck=${false} aria-label=${label}
    aria-invalid=${wrong ? "true" : null} aria-describedby=${wrong ? "wrong" : null} title=${String(value)}
    value=${focused || wrong ? draft : cellText(value)}
    onFocus=${({ currentTarget }) => {
      actions.select(name);
      setFocused(true);
      if (wrong) return;
      // Before select(), since setting the value would end the selection.
      currentTarget.value = String(value);
      currentTarget.select();
      setDraft(String(value));
    }}
    onInput=${(event) => type(event.currentTarget.value)}
    onChange=${(event) => actions.settle(name, event.currentTarget.value)}
    onBlur=${() => setFocused(false)}
    onKeyDown=${onKeyDown}
  />`;
}
