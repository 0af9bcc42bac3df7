/** K and V of one head, cached and computed again; and one selected number of both. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { fixed, quoted, tokenLabel } from "../../../shared/facts/format.js";
import { Surface } from "../../../shared/ui/surface.js";
import { pointInside, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg, nodes } from "../../../shared/words/msg.js";
import { paintTiles } from "../../draw/tiles.js";
import { small } from "../../facts/small-numbers.js";
import { usePicture } from "../use-picture.js";
import { numberTwice, rowsOf } from "./algebra.js";

/** The lowest height of a row; a matrix of many rows is higher than its box, which scrolls. */
const LEAST_ROW_PX = 2;
const MOST_ROW_PX = 12;
const ROOM_PX = 190;
const LEAST_NAMED_PX = 11;
const LEAST_GAPPED_PX = 3;
const DIGITS = 6;

const MATRICES = [
  { name: "k", title: "K", source: "k", tone: "is-cached", from: msg`cached` },
  { name: "k", title: "K", source: "k_again", tone: "is-again", from: msg`computed again` },
  { name: "v", title: "V", source: "v", tone: "is-cached", from: msg`cached` },
  { name: "v", title: "V", source: "v_again", tone: "is-again", from: msg`computed again` },
];

/** @param {{run: Object, values: Object, first: number}} props `values`: of `readableOnly`; `first`: the position of their first row */
export function Twice({ run, values, first }) {
  const [keys, headDim] = values.k.shape;
  const [chosen, setChosen] = useState({ name: "k", position: 0, index: 0 });
  const at = { ...chosen, position: Math.min(chosen.position, keys - 1), index: Math.min(chosen.index, headDim - 1) };
  const row = Math.max(LEAST_ROW_PX, Math.min(MOST_ROW_PX, Math.floor(ROOM_PX / keys)));
  const onKeyDown = (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
    setChosen({ ...at, position: within(at.position + move[0], keys), index: within(at.index + move[1], headDim) });
  };
  return html`<div
    class="twice" role="group" tabindex="0" aria-label=${msg`Numbers of K and V; arrow keys select one`} onKeyDown=${onKeyDown}
  >
    <div class="twice-scroll scrolls">
      ${
        row >= LEAST_NAMED_PX &&
        html`<ol class="twice-names muted nowrap still small mono" aria-hidden="true" style=${`line-height:${row}px`}>
          ${run.tokens.slice(first, first + keys).map(
            (token, position) => html`<li key=${position} class=${position === at.position ? "is-chosen" : ""}>
              <bdi>${tokenLabel(token, 9)}</bdi>
            </li>`,
          )}
        </ol>`
      }
      ${MATRICES.map(
        (matrix) => html`<${Matrix}
          key=${matrix.source} ...${matrix} tensor=${values[matrix.source]} at=${at} row=${row} onPoint=${setChosen}
        />`,
      )}
    </div>
    <p class="twice-readout small" role="status"><${Reading} run=${run} values=${values} at=${at} keys=${keys} first=${first} /></p>
  </div>`;
}

function Reading({ run, values, at, keys, first }) {
  const { cached, again, difference } = numberTwice(values, at.name, at.position, at.index);
  const position = first + at.position;
  const written =
    at.position === keys - 1
      ? msg`Written in this step.`
      : position < run.reused
        ? msg`In the cache since an earlier run.`
        : msg`In the cache since step ${run.stepOfQuery(position)}.`;
  const [matrix, token] = [at.name.toUpperCase(), quoted(run.tokens[position])];
  const inCache = html`<b class="word-cached">${fixed(cached, DIGITS)}</b>`;
  const computed = html`<b class="word-computed">${fixed(again, DIGITS)}</b>`;
  return html`${nodes`${matrix} of ${token}, position ${position}, number ${at.index}: ${inCache} cached, ${computed} computed again.`}${" "}
    ${difference === 0 ? msg`They are the same to the last bit.` : msg`They differ by ${small(difference)}.`} ${written}`;
}

function Matrix({ name, title, from, tone, tensor, at, row, onPoint }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const width = size?.width ?? 0;
  const [keys, headDim] = tensor.shape;
  const height = keys * row;
  const lineGap = row > LEAST_GAPPED_PX ? 1 : 0;
  const paint = (ratio) => paintTiles(rowsOf(tensor), { theme }, { width, lineHeight: row - lineGap, lineGap, ratio });
  const surface = usePicture({ width, height }, paint, [tensor, theme, row]);
  const onPointerMove = (event) => {
    const { x, y } = pointInside(event);
    const within = (value, count) => Math.min(Math.max(Math.floor(value), 0), count - 1);
    onPoint({ name, position: within(y / row, keys), index: within((x / width) * headDim, headDim) });
  };
  const mark = `left:${(at.index / headDim) * width}px;top:${at.position * row}px;width:${width / headDim}px;height:${row}px`;
  return html`<figure class=${`twice-matrix ${tone}`}>
    <figcaption><b>${title}</b> ${from} <small>${keys} × ${headDim}</small></figcaption>
    <div ref=${ref} style=${`height:${height}px`} onPointerMove=${onPointerMove}>
      ${surface && html`<${Surface} ...${surface} />`}
      <i class="twice-newest untouched" style=${`top:${(keys - 1) * row}px;height:${row}px`}></i>
      ${at.name === name && html`<i class="twice-mark untouched" style=${mark}></i>`}
    </div>
  </figure>`;
}
