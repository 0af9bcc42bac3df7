/** Real tensors from a scalar to four axes, with their first numbers. */

import { html } from "htm/preact";
import { bytesShort, fixed, integer } from "../../shared/facts/format.js";
import { productOf } from "../../shared/facts/shapes.js";
import { under } from "../../shared/log/root.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { levelsOf, panelsOf } from "./tensors.js";

const DIGITS = 3;

/** @param {{recordings: {run: Object|null, title: string, problem: string}[], exact: Object}} props `exact`: of `useExactTensors` */
export function TensorCards({ recordings, exact }) {
  const problem = recordings.map(({ problem: one }) => one).find(Boolean);
  const runs = recordings.map(({ run }) => run);
  if (problem) return html`<p role="alert">${msg`The recording could not be read: ${problem}`}</p>`;
  if (!runs.length) return html`<p>${msg`This installation has no recordings to take values from.`}</p>`;
  if (!runs.every(Boolean)) return html`<p role="status">${msg`Loading the recording…`}</p>`;
  const levels = levelsOf(runs, exact.exact);
  const [run] = runs;
  const [first, second] = recordings.map((each) => html`<a href=${under(`/s/${each.run.saved.id}`)}>${each.title}</a>`);
  return html`
    <p class="learn-say">${second ? nodes`The values are of the recordings ${first} and ${second}.` : nodes`The values are of the recording ${first}.`} ${noteOf(exact)}</p>
    <div class="tensors grid">${levels.map((level) => html`<${TensorCard} key=${level.rank} level=${level} bytes=${run.open.model.element_bytes} />`)}</div>`;
}

function noteOf({ status, problem }) {
  const notes = {
    ready: msg`The model computed them again, exactly. The same number stands first in the matrix, in the 3-D and in the 4-D tensor: each axis adds a place to look in.`,
    loading: msg`The model computes the exact values. Until then, attention weights of the log are shown, rounded to within 0.004.`,
    waiting: msg`The model is not ready. Attention weights of the log are shown, rounded to within 0.004; embeddings and keys follow when the model is ready.`,
    none: msg`This server runs another model, so attention weights of the log are shown, rounded to within 0.004.`,
    failed: msg`The model did not give exact values (${problem}). Attention weights of the log are shown, rounded to within 0.004.`,
  };
  return notes[status];
}

function titleOf(kind, rank) {
  return `${kind}: ${plural(rank, form`${rank} axis`, form`${rank} axes`)}`;
}

function TensorCard({ level, bytes }) {
  const { rank, kind, name, axes, exact } = level;
  const sizes = axes.map(({ size }) => size);
  const count = productOf(sizes);
  return html`<section class=${`own-card stack box tensor ${rank === 4 ? "whole" : ""}`} aria-label=${kind}>
    <h3>${titleOf(kind, rank)} <${Badge} origin="computed" /></h3>
    <p>${name}</p>
    <p class="mono">${rank === 0 ? msg`no axis` : `[${axes.map(({ name: axis, size }) => `${axis} ${integer(size)}`).join(" × ")}]`}</p>
    <p class="muted">${plural(count, form`${integer(count)} number, ${bytesShort(count * bytes)} as float32`, form`${integer(count)} numbers, ${bytesShort(count * bytes)} as float32`)}${!exact && ` · ${msg`± 0.004`}`}</p>
    <div class="across" tabindex="0" role="region" aria-label=${msg`First numbers of the ${kind}`}>
      <div class="tensor-panels">${panelsOf(level).map((panel) => html`<${Panel} key=${panel.index.join()} panel=${panel} />`)}</div>
    </div>
  </section>`;
}

function Panel({ panel: { index, lines, linesBefore, moreNumbers } }) {
  const text = `[${index.join(", ")}]`;
  const hasNames = lines.some(({ name }) => name);
  const rows = lines.map(({ name, numbers }) => ({
    head: hasNames ? html`<bdi class="cut">${name}</bdi>` : undefined,
    cells: [
      ...numbers.map((number) => fixed(number, DIGITS)),
      ...(moreNumbers > 0 ? [html`<span class="muted">${msg`… ${integer(moreNumbers)} more`}</span>`] : []),
    ],
  }));
  return html`<${Table} name=${text} caption=${index.length > 0 && html`<span class="mono">${text}</span>`} kind="tensor-panel" scrolls=${false}
    columns=${Array(9).fill({})} rows=${[linesBefore > 0 && { says: msg`${integer(linesBefore)} rows before …` }, ...rows]} />`;
}
