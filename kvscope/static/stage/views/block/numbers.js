/** The values of one tensor as a table, for copying and for readers who cannot see the drawing. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { significant, tokenLabel } from "../../../shared/facts/format.js";
import { Table } from "../../../shared/ui/table.js";
import { msg } from "../../../shared/words/msg.js";

const VECTOR_COLUMNS = 8;

export function BlockNumbers({ scene }) {
  const [open, setOpen] = useState(false);
  const [selected, setSelected] = useState("attn.weights");
  const names = Object.keys(scene.values).sort();
  const name = names.includes(selected) ? selected : "attn.weights";
  return html`<details class="block-numbers" onToggle=${(event) => setOpen(event.target.open)}>
    <summary>${msg`The numbers as a table`}</summary>
    ${
      open &&
      html`<label>
        ${msg`values of`}
        <select value=${name} onChange=${(event) => setSelected(event.target.value)}>
          ${names.map(
            (each) =>
              html`<option key=${each} value=${each}>${each} [${scene.values[each].shape.join(" × ")}]</option>`,
          )}
        </select>
      </label>
      <div class="block-table"><${Table} name=${msg`${name} of layer ${scene.layer}`} ...${tableOf(name, scene.values[name], scene)} /></div>`
    }
  </details>`;
}

function keyHeader(kvHead, position, run) {
  const token = tokenLabel(run.tokens[position]);
  return msg`KV ${kvHead}, ${position} ${token}`;
}

/**
 * Heads, or experts, are columns; a vector has eight numbers per table row; the cache has one table row per KV head and position.
 *
 * @returns {{columns: Object[], rows: Object[]}} props of `Table`
 */
function tableOf(name, { shape, data }, { run, experts }) {
  if (shape.length === 2) {
    const [heads, length] = shape;
    const perKey = name === "attn.scores" || name === "attn.weights";
    const headOf = (head) => (name.startsWith("mlp.") ? `e${experts[head].expert}` : `h${head}`);
    return tableFrom(heads, headOf, length, (i) => ({
      head: perKey ? `${i} ${tokenLabel(run.tokens[i])}` : i,
      values: Array.from({ length: heads }, (_, head) => data[head * length + i]),
    }));
  }
  const width = shape.length === 3 ? shape[2] : VECTOR_COLUMNS;
  return tableFrom(width, String, Math.ceil(data.length / width), (line) => ({
    head: shape.length === 3 ? keyHeader(Math.floor(line / shape[1]), line % shape[1], run) : line * width,
    values: Array.from(data.subarray(line * width, (line + 1) * width)),
  }));
}

function tableFrom(width, headOf, length, rowOf) {
  return {
    columns: [{}, ...Array.from({ length: width }, (_, at) => ({ head: headOf(at) }))],
    rows: Array.from({ length }, (_, at) => {
      const { head, values } = rowOf(at);
      return { head: html`<bdi>${head}</bdi>`, cells: values.map((value) => significant(value)) };
    }),
  };
}
