/** The values of one tensor as a table, for copying and for readers who cannot see the drawing. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { significant, tokenLabel } from "../../../shared/facts/format.js";

import { msg } from "../../../shared/words/msg.js";

const VECTOR_COLUMNS = 8;

export function BlockNumbers({ scene }) {
  const [open, setOpen] = useState(false);
  const [wanted, setWanted] = useState("attn.weights");
  const names = Object.keys(scene.values).sort();
  const name = names.includes(wanted) ? wanted : "attn.weights";
  return html`<details class="block-numbers" onToggle=${(event) => setOpen(event.target.open)}>
    <summary>${msg`The numbers as a table`}</summary>
    ${
      open &&
      html`<label>
        ${msg`values of`}
        <select value=${name} onChange=${(event) => setWanted(event.target.value)}>
          ${names.map(
            (each) =>
              html`<option key=${each} value=${each}>${each} [${scene.values[each].shape.join(" × ")}]</option>`,
          )}
        </select>
      </label>
      <div class="block-table" tabindex="0" role="region" aria-label=${msg`Table of values`}>
        <table>
          <caption class="visually-hidden">${msg`${name} of layer ${scene.layer}`}</caption>
          <${Rows} name=${name} tensor=${scene.values[name]} scene=${scene} />
        </table>
      </div>`
    }
  </details>`;
}

function Rows({ name, tensor, scene }) {
  const { headers, rows } = tableOf(name, tensor, scene);
  return html`<thead>
      <tr><td></td>${headers.map((header) => html`<th key=${header} scope="col">${header}</th>`)}</tr>
    </thead>
    <tbody>
      ${rows.map(
        ({ header, cells }, at) => html`<tr key=${at}>
          <th scope="row"><bdi>${header}</bdi></th>
          ${cells.map((cell, i) => html`<td key=${i}>${significant(cell)}</td>`)}
        </tr>`,
      )}
    </tbody>`;
}

function keyHeader(kvHead, position, run) {
  const token = tokenLabel(run.tokens[position]);
  return msg`KV ${kvHead}, ${position} ${token}`;
}

/** Heads, or experts, are columns; a vector has eight numbers per table row; the cache has one table row per KV head and position. */
function tableOf(name, { shape, data }, { run, experts }) {
  if (shape.length === 2) {
    const [heads, length] = shape;
    const perKey = name === "attn.scores" || name === "attn.weights";
    return {
      headers: Array.from({ length: heads }, (_, head) =>
        name.startsWith("mlp.") ? `e${experts[head].expert}` : `h${head}`,
      ),
      rows: Array.from({ length }, (_, i) => ({
        header: perKey ? `${i} ${tokenLabel(run.tokens[i])}` : i,
        cells: Array.from({ length: heads }, (_, head) => data[head * length + i]),
      })),
    };
  }
  const width = shape.length === 3 ? shape[2] : VECTOR_COLUMNS;
  const lines = Math.ceil(data.length / width);
  return {
    headers: Array.from({ length: width }, (_, i) => i),
    rows: Array.from({ length: lines }, (_, line) => ({
      header: shape.length === 3 ? keyHeader(Math.floor(line / shape[1]), line % shape[1], run) : line * width,
      cells: Array.from(data.subarray(line * width, (line + 1) * width)),
    })),
  };
}
