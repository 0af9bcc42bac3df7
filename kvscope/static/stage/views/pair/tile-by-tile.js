/** A query's row read in tiles of keys: the running state after each tile, and the same result as for the whole row. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { bytes, bytesShort, fixed, integer, significant, withExponent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Table } from "../../../shared/ui/table.js";
import { Token } from "../../../shared/ui/token.js";
import { form, msg, nodes, plural } from "../../../shared/words/msg.js";
import { lineOf } from "../block/scene.js";
import { VectorLines } from "./dimensions.js";
import { bySize } from "./dot-product.js";
import { TileStrip } from "./tile-strip.js";
import { bytesByFormula, tiledRow } from "./tiled-row.js";

const SIZES = [2, 4, 8, 16];
const FIRST_SIZE = 4;
/** How long a tile is shown while the row plays, in ms. */
const TILE_MS = 1400;

/**
 * @param {{run: Object, focus: Object, values: Object, row: number, stored: boolean, still: boolean}} props `values`: the
 *   head's exact values; `stored`: as for `Mix`; `still`: nothing moves by itself
 */
export function TileByTile({ run, focus, values, row, stored, still }) {
  const { query } = focus;
  const [size, setSize] = useState(FIRST_SIZE);
  const tiled = useMemo(() => tiledRow(values, { row, query }, size), [values, row, query, size]);
  const { at, go, playing, play } = useSteps(tiled);
  const step = tiled.steps[at];
  const last = tiled.steps.length - 1;
  const more = last - at;
  return html`
    <p class="pair-how muted small">
      ${msg`The same computation without the whole row in memory: each tile of keys is read once.`}
      ${" "}${msg`Three values are updated: the largest score, the sum of exp(score − max), and the weighted sum of v.`}
      ${" "}${msg`When a tile has a larger score, both sums are multiplied by exp(old max − new max).`}
    </p>
    <div class="tiles-controls small">
      <div role="group" aria-label=${msg`Keys in a tile`}>
        ${msg`keys in a tile`}
        ${SIZES.map(
          (each) =>
            html`<button type="button" class="button is-choice small still" key=${each} aria-pressed=${each === size} onClick=${() => setSize(each)}>${each}</button>`,
        )}
      </div>
      <div role="group" aria-label=${msg`Tiles`}>
        <button type="button" class="button is-choice small still" disabled=${at === 0} onClick=${() => go(at - 1)}>${msg`Previous`}</button>
        <button type="button" class="button is-choice small still" disabled=${at === last} onClick=${() => go(at + 1)}>${msg`Next`}</button>
        ${!still && html`<button type="button" class="button is-choice small still" disabled=${last === 0} onClick=${play}>${playing ? msg`Pause` : msg`Play`}</button>`}
        <span role="status">${msg`tile ${at + 1} of ${tiled.steps.length}`}</span>
      </div>
    </div>
    <${TileStrip} steps=${tiled.steps} at=${at} first=${tiled.first} />
    <div class="tiles-body row">
      <${TileKeys} step=${step} scores=${lineOf(values.scores, row)} run=${run} />
      <${RunningState} step=${step} output=${tiled.output} />
    </div>
    ${
      at === last
        ? html`<${End} tiled=${tiled} sum=${step.after.sum} weights=${lineOf(values.weights, row)} output=${lineOf(values.output, row)} stored=${stored} />`
        : html`<p class="pair-how muted small">${plural(
            more,
            form`After ${integer(more)} more tile: weighted sum ÷ sum is the head's output.`,
            form`After ${integer(more)} more tiles: weighted sum ÷ sum is the head's output.`,
          )}</p>`
    }
    <${WhyTiles} run=${run} size=${size} keys=${query + 1 - tiled.first} />
  `;
}

/** Which tile is shown. Another row or another size begins at the first tile. */
function useSteps(tiled) {
  const [shown, setShown] = useState({ tiled, at: 0, playing: false });
  const here = shown.tiled === tiled ? shown : { tiled, at: 0, playing: false };
  const last = tiled.steps.length - 1;
  const { at, playing } = here;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setTimeout(() => setShown({ tiled, at: at + 1, playing: at + 1 < last }), TILE_MS);
    return () => clearTimeout(timer);
  }, [tiled, at, playing, last]);
  return {
    at,
    playing,
    go: (to) => setShown({ tiled, at: to, playing: false }),
    play: () => setShown({ tiled, at: !playing && at === last ? 0 : at, playing: !playing }),
  };
}

/** The tile that is in fast memory now. */
function TileKeys({ step, scores, run }) {
  const keys = Array.from(step.powers, (power, at) => ({ key: step.from + at, power }));
  return html`<div class="tiles-keys">
    <${Table} name=${msg`This tile`} caption=${msg`This tile`} kind="row-table small"
      columns=${[{ head: msg`key` }, { head: msg`score` }, { head: msg`exp(score − max)` }]}
      rows=${keys.map(({ key, power }) => ({
        key,
        head: html`<${Token} token=${run.tokens[key]} limit=${10} /> <small>${key}</small>`,
        cells: [fixed(scores[key], 2), significant(power)],
      }))}
    />
  </div>`;
}

/** The three running values, and how this tile changed them; of the weighted sum, the dimension with the largest output. */
function RunningState({ step, output }) {
  const { before, after, scale } = step;
  const [index] = bySize(output);
  const isFirst = before.sum === 0;
  const computed = (value) => html`<td class="word-computed">${value}</td>`;
  const sums = [
    { name: msg`sum`, old: before.sum, own: step.sum, now: after.sum },
    {
      name: msg`weighted sum[${index}]`,
      old: before.mix[index],
      own: step.mix[index],
      now: after.mix[index],
    },
  ];
  return html`<div class="tiles-state">
    <${Table} name=${msg`Running values`} kind="row-table small" caption=${html`${msg`Running values`} <${Badge} origin="computed" />`}
      columns=${[
        {},
        { head: msg`before` },
        { head: `${msg`× exp(old − new)`}${isFirst ? "" : ` = ${significant(scale)}`}` },
        { head: msg`+ this tile` },
        { head: msg`after` },
      ]}
      rows=${[
        {
          head: msg`largest score`,
          cells: [isFirst ? msg`none` : fixed(before.max, 2), "", fixed(step.max, 2), computed(fixed(after.max, 2))],
        },
        ...sums.map(({ name, old, own, now }) => ({
          head: name,
          cells: [fixed(old, 4), isFirst ? "" : fixed(old * scale, 4), fixed(own, 4), computed(fixed(now, 4))],
        })),
      ]}
    />
    <${VectorLines} name=${msg`The weighted sum after this tile: ${after.mix.length} numbers`} lines=${[{ name: msg`weighted sum`, values: after.mix }]} />
    <p class="pair-how muted small">${rescaled(step)}</p>
  </div>`;
}

function rescaled({ before, scale }) {
  if (before.sum === 0) return msg`This is the first tile, so nothing is rescaled.`;
  if (scale === 1) return msg`This tile has no larger score, so nothing is rescaled.`;
  return msg`This tile has a larger score: both sums are multiplied by ${significant(scale)}, then this tile is added.`;
}

/** After the last tile: weights and output, beside those of the whole row. */
function End({ tiled, sum, weights, output, stored }) {
  const whole = stored ? msg`whole row, from the stored q, k and v` : msg`whole row, from the engine`;
  const largest = weights.reduce((best, weight, key) => (weight > weights[best] ? key : best), 0);
  const [index] = bySize(output);
  const result = html`<span class="word-output">${msg`output`}</span>`;
  const both = (byTiles, byRow) => [
    { name: msg`by tiles`, values: byTiles },
    { name: msg`whole row`, values: byRow },
  ];
  return html`<div class="tiles-end">
    <h4>${nodes`All tiles read: weighted sum ÷ ${fixed(sum, 4)} is the head's ${result}`}</h4>
    <${VectorLines} name=${msg`The weight of each key, by tiles and for the whole row`} lines=${both(tiled.weights.subarray(tiled.first), weights.subarray(tiled.first, tiled.weights.length))} />
    <${VectorLines} name=${msg`The output, by tiles and for the whole row`} lines=${both(tiled.output, output)} />
    <${Table} name=${msg`By tiles and whole`} kind="row-table small"
      columns=${[{}, { head: msg`by tiles` }, { head: whole }, { head: msg`largest difference` }]}
      rows=${[
        {
          head: msg`weight of key ${largest}`,
          cells: [fixed(tiled.weights[largest], 6), fixed(weights[largest], 6), withExponent(tiled.weightDifference)],
        },
        {
          head: msg`output[${index}]`,
          cells: [fixed(tiled.output[index], 6), fixed(output[index], 6), withExponent(tiled.outputDifference)],
        },
      ]}
    />
    <p class="pair-how muted small">${msg`The same numbers are added in another order, so float32 rounds differently.`}</p>
  </div>`;
}

function WhyTiles({ run, size, keys }) {
  const { model } = run.open;
  const { row, tile, state, layer } = bytesByFormula(model, { keys, size });
  return html`<p class="pair-how muted small">
    <b>${msg`Why tiles?`}</b> ${msg`The whole row of scores is never written to memory.`}
    ${" "}${msg`Fast memory holds one tile of scores (${bytes(tile)}) and the running values (${bytes(state)}). This row takes ${bytes(row)}.`}
    ${" "}${msg`A prompt of ${integer(model.context)} tokens, the model's limit, has heads × tokens² × 4 B = ${bytesShort(layer)} of scores in each layer.`}
    ${" "}${msg`All these sizes are by formula. FlashAttention (arXiv:2205.14135) works this way, with the online softmax (arXiv:1805.02867).`}
    ${" "}${msg`KVScope's engine writes whole rows, so that this page can show them.`}
  </p>`;
}
