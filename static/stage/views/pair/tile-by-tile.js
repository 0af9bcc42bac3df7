/** A query's row read a tile of keys at a time: what is kept after each, and the same end as the model's whole row. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { bytes, bytesShort, counted, fixed, integer, significant, withExponent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Token } from "../../../shared/ui/token.js";
import { bySize, line } from "./dot-product.js";
import { TileStrip } from "./tile-strip.js";
import { bytesUnwritten, tiledRow } from "./tiled-row.js";
import { VectorLines } from "./vector-lines.js";

const SIZES = [2, 4, 8, 16];
const PLAIN_SIZE = 4;
/** How long a tile is looked at while the row plays, in ms. */
const TILE_MS = 1400;

/**
 * @param {{run: Object, focus: Object, values: Object, row: number, stored: boolean, still: boolean}} props `values`: the
 *   head's exact values; `stored`: as for the mix; `still`: nothing is to move by itself
 */
export function TileByTile({ run, focus, values, row, stored, still }) {
  const { query } = focus;
  const [size, setSize] = useState(PLAIN_SIZE);
  const tiled = useMemo(() => tiledRow(values, { row, query }, size), [values, row, query, size]);
  const { at, go, playing, play } = useSteps(tiled);
  const step = tiled.steps[at];
  const last = tiled.steps.length - 1;
  const name = tiled.steps.length === 1 ? "the only tile" : `tile ${at + 1} of ${tiled.steps.length}`;
  return html`
    <p class="pair-how muted small">
      The same softmax and mix, without ever having the whole row at hand: a tile of keys is read, three things are kept of it,
      and it is dropped. Where a larger score comes, what was kept is multiplied by exp(old max − new max), as if
      that had been the largest from the start.
    </p>
    <div class="tiles-controls small">
      <div role="group" aria-label="Keys in a tile">
        keys in a tile
        ${SIZES.map(
          (each) =>
            html`<button type="button" class="button is-choice small still" key=${each} aria-pressed=${each === size} onClick=${() => setSize(each)}>${each}</button>`,
        )}
      </div>
      <div role="group" aria-label="Tiles">
        <button type="button" class="button is-choice small still" disabled=${at === 0} onClick=${() => go(at - 1)}>Previous</button>
        <button type="button" class="button is-choice small still" disabled=${at === last} onClick=${() => go(at + 1)}>Next</button>
        ${!still && html`<button type="button" class="button is-choice small still" disabled=${last === 0} onClick=${play}>${playing ? "Pause" : "Play"}</button>`}
        <span role="status">${name}</span>
      </div>
    </div>
    <${TileStrip} steps=${tiled.steps} at=${at} first=${tiled.first} />
    <div class="tiles-body row">
      <${TileKeys} step=${step} scores=${line(values.scores, row)} run=${run} />
      <${Kept} step=${step} output=${tiled.output} />
    </div>
    ${
      at === last
        ? html`<${End} tiled=${tiled} kept=${step.after} weights=${line(values.weights, row)} output=${line(values.output, row)} stored=${stored} />`
        : html`<p class="pair-how muted small">After ${counted(last - at, "more tile")}: mix ÷ sum is the head's output.</p>`
    }
    <${Why} run=${run} size=${size} keys=${query + 1 - tiled.first} />
  `;
}

/** Which tile is in sight. Another row, or tiles of another size, begin at the first. */
function useSteps(tiled) {
  const [seen, setSeen] = useState({ tiled, at: 0, playing: false });
  const here = seen.tiled === tiled ? seen : { tiled, at: 0, playing: false };
  const last = tiled.steps.length - 1;
  const { at, playing } = here;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setTimeout(() => setSeen({ tiled, at: at + 1, playing: at + 1 < last }), TILE_MS);
    return () => clearTimeout(timer);
  }, [tiled, at, playing, last]);
  return {
    at,
    playing,
    go: (to) => setSeen({ tiled, at: to, playing: false }),
    play: () => setSeen({ tiled, at: !playing && at === last ? 0 : at, playing: !playing }),
  };
}

/** The tile that is in fast memory now. */
function TileKeys({ step, scores, run }) {
  const keys = Array.from(step.powers, (power, at) => ({ key: step.from + at, power }));
  return html`<table class="row-table small fill tiles-keys">
    <caption>This tile</caption>
    <thead>
      <tr><th scope="col">key</th><th scope="col">score</th><th scope="col">exp(score − max)</th></tr>
    </thead>
    <tbody>
      ${keys.map(
        ({ key, power }) => html`<tr key=${key}>
          <th scope="row"><${Token} token=${run.tokens[key]} limit=${10} /> <small>${key}</small></th>
          <td>${fixed(scores[key], 2)}</td>
          <td>${significant(power)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}

/** What is left of all tiles so far, and how this one changed it; of the mix the number that ends largest. */
function Kept({ step, output }) {
  const { before, after, scale } = step;
  const [index] = bySize(output);
  const begins = before.sum === 0;
  const sums = [
    { name: "sum", old: before.sum, own: step.sum, now: after.sum },
    {
      name: `mix, number ${index}`,
      old: before.mix[index],
      own: step.mix[index],
      now: after.mix[index],
    },
  ];
  return html`<div class="tiles-kept">
    <table class="row-table small fill">
      <caption>What is kept <${Badge} origin="computed" /></caption>
      <thead>
        <tr>
          <td></td>
          <th scope="col">before</th>
          <th scope="col">× exp(old − new)${begins ? "" : ` = ${significant(scale)}`}</th>
          <th scope="col">+ this tile</th>
          <th scope="col">now</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">largest score</th>
          <td>${begins ? "none yet" : fixed(before.max, 2)}</td>
          <td></td>
          <td>${fixed(step.max, 2)}</td>
          <td class="word-computed">${fixed(after.max, 2)}</td>
        </tr>
        ${sums.map(
          ({ name, old, own, now }) => html`<tr>
            <th scope="row">${name}</th>
            <td>${fixed(old, 4)}</td>
            <td>${begins ? "" : fixed(old * scale, 4)}</td>
            <td>${fixed(own, 4)}</td>
            <td class="word-computed">${fixed(now, 4)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
    <${VectorLines} name=${`The mix so far: ${after.mix.length} numbers, the largest size ${significant(Math.abs(after.mix[bySize(after.mix)[0]]))}`} lines=${[{ name: "whole mix", values: after.mix }]} />
    <p class="pair-how muted small">${rescaled(step)}</p>
  </div>`;
}

function rescaled({ before, scale }) {
  if (before.sum === 0) return "The first tile: there is nothing to rescale.";
  if (scale === 1) return "No score of this tile is larger than the largest before: nothing is rescaled.";
  return `A larger score came: all that was kept shrinks to ${significant(scale)} of itself, and this tile is added.`;
}

/** The last tile is read: softmax and output as the model has them. */
function End({ tiled, kept, weights, output, stored }) {
  const own = stored ? "made of the stored q, k and v at once" : "the model's own";
  const largest = weights.reduce((best, weight, key) => (weight > weights[best] ? key : best), 0);
  const [index] = bySize(output);
  const both = (mine, theirs, name) => [
    { name, values: mine },
    { name: stored ? "at once" : "the model", values: theirs },
  ];
  return html`<div class="tiles-end">
    <h4>All read: mix ÷ ${fixed(kept.sum, 4)} is the head's <span class="word-output">output</span></h4>
    <${VectorLines} name=${`The weight of each key: from the tiles, and ${own}`} lines=${both(tiled.weights.subarray(tiled.first), weights.subarray(tiled.first, tiled.weights.length), "weights")} />
    <${VectorLines} name=${`The output: from the tiles, and ${own}`} lines=${both(tiled.output, output, "output")} />
    <table class="row-table small fill">
      <thead>
        <tr><td></td><th scope="col">from tiles</th><th scope="col">${own}</th><th scope="col">largest difference of all</th></tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">weight of key ${largest}</th><td>${fixed(tiled.weights[largest], 6)}</td><td>${fixed(weights[largest], 6)}</td>
          <td data-unlike="weights">${withExponent(tiled.unlikeWeights)}</td>
        </tr>
        <tr>
          <th scope="row">output, number ${index}</th><td>${fixed(tiled.output[index], 6)}</td><td>${fixed(output[index], 6)}</td>
          <td data-unlike="output">${withExponent(tiled.unlikeOutput)}</td>
        </tr>
      </tbody>
    </table>
    <p class="pair-how muted small">The differences are float32 rounding: the same sums, added in another order.</p>
  </div>`;
}

function Why({ run, size, keys }) {
  const { model } = run.open;
  const { row, tile, kept, layer } = bytesUnwritten(model, { keys, size });
  return html`<p class="pair-how muted small">
    <b>Why:</b> the whole row of scores never has to be written to memory. In fast memory there is one tile, ${bytes(tile)} of
    scores, and ${bytes(kept)} that are kept; this row would be ${bytes(row)}. That is little, but a prompt of the
    ${" "}${integer(model.context)} tokens that this model takes has ${model.heads === 1 ? "" : `${model.heads} heads × `}${integer(model.context)}² × 4 B =
    ${" "}${bytesShort(layer)} of scores in every layer (all by formula). FlashAttention, arXiv:2205.14135, with the online softmax,
    arXiv:1805.02867. The engine behind this page does write whole rows: so they can be shown.
  </p>`;
}
