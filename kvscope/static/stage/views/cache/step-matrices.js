/** The whole computation of a decode step without a cache, as matrices: what was computed before is blue; and one selected number. */

import { html } from "htm/preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { fixed, integer, quoted, tokenLabel } from "../../../shared/facts/format.js";
import { cappedText } from "../../../shared/log/model.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Surface } from "../../../shared/ui/surface.js";
import { pointInside, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg, nodes } from "../../../shared/words/msg.js";
import { small } from "../../facts/small-numbers.js";
import { usePicture } from "../use-picture.js";
import { paintMatrix } from "./step-cells.js";
import { columnsOf, earlierRows, matricesOf, numberOf } from "./step-matrices-facts.js";

/** The lowest height of a row; a matrix of many rows is higher than its box, which scrolls. */
const LEAST_ROW_PX = 2;
const MOST_ROW_PX = 12;
const ROOM_PX = 190;
const LEAST_NAMED_PX = 11;
const LEAST_GAPPED_PX = 3;
const DIGITS = 6;

const TITLES = {
  "attn.normed": () => msg`normed`,
  q: () => "Q",
  k: () => "K",
  v: () => "V",
  scores: ({ score_cap: cap }) => (cap ? `S = ${cappedText("Q·Kᵀ/√d", cap)}` : "S = Q·Kᵀ/√d"),
  weights: () => "A = softmax(S)",
  output: () => "o = A·V",
  "attn.change": ({ post_norms: normed }) => (normed ? msg`attention output` : msg`o·W_O of all heads`),
  resid_mid: () => msg`residual`,
  "mlp.hidden": () => msg`MLP hidden`,
  resid_out: () => msg`output of the layer`,
};

/** @param {{run: Object, step: number, layer: number, values: Object}} props `values`: as `client.ask("algebra")` gives them */
export function StepMatrices({ run, layer, values }) {
  const parts = useMemo(() => matricesOf(values), [values]);
  const all = [...parts.head, ...parts.layer];
  const firstKey = useCallback((row) => run.firstKey(layer, row), [run, layer]);
  // Not with each selected number: it goes through all of them.
  const said = useMemo(() => reusable(all, firstKey, values), [parts, firstKey, values]);
  const [chosen, setChosen] = useState({ id: "k", row: 0, column: 0 });
  const at = inside(all, chosen, firstKey);
  const keys = values.k.shape[0];
  const rowHeight = Math.max(LEAST_ROW_PX, Math.min(MOST_ROW_PX, Math.floor(ROOM_PX / keys)));
  const onKeyDown = (event) => {
    const next = moved(all, at, event.key);
    if (!next) return;
    event.preventDefault();
    setChosen(next);
  };
  const line = (matrices, name) =>
    matrices.length > 0 &&
    html`<div class="step-line scrolls" role="img" aria-label=${name}>
      ${rowHeight >= LEAST_NAMED_PX && html`<${Names} run=${run} keys=${keys} row=${at.row} rowHeight=${rowHeight} />`}
      ${matrices.map(
        (matrix) => html`<${Matrix}
          key=${matrix.id} matrix=${matrix} title=${TITLES[matrix.id](run.open.model)} at=${at} rowHeight=${rowHeight} firstKey=${firstKey}
          layer=${layer} onPoint=${setChosen}
        />`,
      )}
    </div>`;
  return html`<p class="sheet-say">${said} <${Badge} origin="measured" /></p>
    <div
      class="step-matrices" role="group" tabindex="0" onKeyDown=${onKeyDown}
      aria-label=${msg`Numbers of the step; arrow keys select one, Page Up and Page Down a matrix`}
    >
      ${line(parts.head, msg`Matrices of one head: a row for each token`)}
      ${line(parts.layer, msg`Matrices of the whole layer: a row for each token`)}
      <p class="step-readout small" role="status"><${Reading} run=${run} layer=${layer} matrices=${all} at=${at} /></p>
    </div>`;
}

/** What can be reused, as measured, and what is needed. */
function reusable(matrices, firstKey, values) {
  if (!("scores_again" in values)) return msg`In a step with so many positions, only K and V are computed again.`;
  const { numbers, different, largest } = earlierRows(matrices, firstKey);
  const same = different
    ? msg`With the newest token, ${integer(different)} of the ${integer(numbers)} numbers in the blue rows differ, by at most ${small(largest)}.`
    : msg`The newest token changes none of the ${integer(numbers)} numbers in the blue rows.`;
  return html`${same} ${msg`Of them, this step reads only K and V again (framed); the amber row is all that it computes.`}`;
}

/** Returns the selected place, within the matrix and what the row has of it. */
function inside(matrices, { id, row, column }, firstKey) {
  const matrix = matrices.find((each) => each.id === id) ?? matrices[0];
  const within = (value, low, high) => Math.min(Math.max(value, low), high);
  const at = within(row, 0, matrix.again.shape[0] - 1);
  const { from, end } = columnsOf(matrix, at, firstKey);
  return { id: matrix.id, row: at, column: within(column, from, end - 1) };
}

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const TURNS = { PageUp: -1, PageDown: 1 };

/** @returns {{id: string, row: number, column: number}|null} the place that a key selects; `inside` limits it */
function moved(matrices, at, key) {
  if (MOVES[key]) return { ...at, row: at.row + MOVES[key][0], column: at.column + MOVES[key][1] };
  if (!TURNS[key]) return null;
  const next = matrices.findIndex(({ id }) => id === at.id) + TURNS[key];
  return { ...at, id: matrices[Math.min(Math.max(next, 0), matrices.length - 1)].id };
}

function Names({ run, keys, row, rowHeight }) {
  return html`<ol class="step-names muted nowrap still small mono" aria-hidden="true" style=${`line-height:${rowHeight}px`}>
    ${run.tokens
      .slice(0, keys)
      .map(
        (token, position) =>
          html`<li key=${position} class=${position === row ? "is-chosen" : ""}><bdi>${tokenLabel(token, 9)}</bdi></li>`,
      )}
  </ol>`;
}

function Reading({ run, layer, matrices, at: { id, row, column } }) {
  const matrix = matrices.find((each) => each.id === id);
  const newest = matrix.again.shape[0] - 1;
  const { value, other, difference } = numberOf(matrix, row, column);
  const [title, token] = [html`<b>${TITLES[id](run.open.model)}</b>`, quoted(run.tokens[row])];
  const place = matrix.triangle
    ? nodes`${title}, query ${token} (position ${row}), key ${quoted(run.tokens[column])} (${column}):`
    : nodes`${title} of ${token} (position ${row}), number ${column}:`;
  const isNew = row === newest;
  const number = html`<b class=${isNew ? "word-computed" : "word-cached"}>${fixed(value, DIGITS)}</b>`;
  const compared = html`<b class=${isNew ? "word-computed" : "word-cached"}>${fixed(other, DIGITS)}</b>`;
  if (isNew)
    return html`${place} ${nodes`${number} in this step, with the cache; ${compared} without a cache.`} ${apart(difference)}`;
  if (!matrix.cached)
    return html`${place} ${nodes`${number} now; ${compared} in a pass without the newest token.`} ${apart(difference)} ${msg`No later step needs it.`}`;
  if (row < run.firstKey(layer, newest))
    return html`${place} ${number}. ${msg`Outside the window of this layer: not read.`}`;
  const since = row < run.reused ? msg`since an earlier run` : msg`since step ${run.stepOfQuery(row)}`;
  return html`${place} ${nodes`${number} computed again; ${compared} in the cache ${since}.`} ${apart(difference)}`;
}

const apart = (difference) =>
  difference === 0 ? msg`Difference 0: the same to the last bit.` : msg`Difference ${small(difference)}.`;

function Matrix({ matrix, title, at, rowHeight, firstKey, layer, onPoint }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const width = size?.width ?? 0;
  const [rows, columns] = matrix.again.shape;
  const height = rows * rowHeight;
  const rowGap = rowHeight > LEAST_GAPPED_PX ? 1 : 0;
  const paint = (ratio) => paintMatrix(matrix, { theme, firstKey }, { width, rowHeight, rowGap, ratio });
  const surface = usePicture({ width, height }, paint, [matrix, theme, rowHeight, layer]);
  const onPointerMove = (event) => {
    const { x, y } = pointInside(event);
    onPoint({ id: matrix.id, row: Math.floor(y / rowHeight), column: Math.floor((x / width) * columns) });
  };
  const mark = `left:${(at.column / columns) * width}px;top:${at.row * rowHeight}px;width:${width / columns}px;height:${rowHeight}px`;
  return html`<figure class=${`step-matrix ${matrix.cached ? "is-cached" : ""}`} style=${`--share:${matrix.triangle ? 1 : Math.sqrt(columns / 64)}`}>
    <figcaption><b>${title}</b><br />${rows} × ${columns}, ${matrix.cached ? msg`in the cache` : msg`dropped`}</figcaption>
    <div ref=${ref} style=${`height:${height}px`} onPointerMove=${onPointerMove}>
      ${surface && html`<${Surface} ...${surface} />`}
      ${matrix.cached && html`<i class="step-kept untouched" style=${`height:${height - rowHeight}px`}></i>`}
      ${at.id === matrix.id && html`<i class="step-mark untouched" style=${mark}></i>`}
    </div>
  </figure>`;
}
