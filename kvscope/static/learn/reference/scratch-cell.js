/** A field for small tensors of the reader's own: shape, type, bytes and numbers of each result. */

import { html } from "htm/preact";
import { bytesShort, integer, significant } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { plain } from "./plain.js";
import { evaluated } from "./scratch.js";
import { FUNCTIONS, shapeText } from "./tensor-math.js";

const FLOAT32_BYTES = 4;
/** Numbers that are shown of one tensor. */
const MOST_SHOWN = 64;

/** @param {{text: string, put: (text: string) => void}} props */
export function ScratchCell({ text, put }) {
  const result = evaluated(text);
  const problem = "problem" in result ? result.problem : "";
  const values = "values" in result ? result.values : [];
  return html`<section class="own-card stack box" aria-label=${msg`Try a tensor`}>
    <h3><label for="scratch">${msg`Try a tensor of your own`}</label> <${Badge} origin="computed" /></h3>
    <textarea id="scratch" class="scratch" rows="2" spellcheck=${false} autocomplete="off" autocapitalize="off" value=${text} aria-invalid=${problem ? "true" : null}
      aria-describedby="scratch-say" onInput=${(event) => put(event.currentTarget.value)}></textarea>
    <p class="muted" id="scratch-say">${msg`Numbers, lists, names, + − * / @, .T, x[0], and ${Object.keys(FUNCTIONS).join(", ")}, in float32. A semicolon or a new line ends a statement.`}</p>
    ${problem && html`<p class="own-wrong word-bad breaks" role="alert">${problem}</p>`}
    ${
      values.length > 0 &&
      html`<${Table} name=${msg`Results`} columns=${[{ head: msg`expression` }, { head: msg`shape` }, { head: msg`dtype` }, { head: msg`bytes` }, { head: msg`numbers`, words: true }]}
        rows=${values.map(({ name, value: { shape, data } }, at) => ({
          key: at,
          head: html`<span class="mono breaks">${name}</span>`,
          cells: [
            shapeText(shape),
            "float32",
            bytesShort(data.length * FLOAT32_BYTES),
            html`<span class="mono scratch-numbers">${numbersText(shape, data)}</span>`,
          ],
        }))} />`
    }
  </section>`;
}

/** Writes numbers with a line for each row of the last axis. */
function numbersText(shape, data) {
  const width = shape.at(-1) ?? 1;
  const shown = [...data.subarray(0, MOST_SHOWN)].map((value) =>
    Number.isFinite(value) && !Number.isInteger(value) ? significant(value) : plain(value),
  );
  const lines = [];
  for (let at = 0; at < shown.length; at += width) lines.push(shown.slice(at, at + width).join("  "));
  return [...lines, ...(data.length > MOST_SHOWN ? [msg`… ${integer(data.length - MOST_SHOWN)} more`] : [])].join("\n");
}
