/**
 * Reads cells of blocks, with their values and weights, on standard input; writes what the terms of each add up to.
 *
 * In: {blocks: [{model, query, layer, values}], cells: [{block, at, learned?}]}, tensors as base64 of safetensors. Of a cell
 * that wants weights and has none yet it writes which.
 */

import { readFileSync } from "node:fs";
import { decodeSafetensors } from "../../../../../kvscope/static/shared/log/frames.js";
import { blockScene } from "../../../../../kvscope/static/stage/views/block/scene.js";
import { calculationOf } from "../../../../../kvscope/static/stage/views/block/terms.js";

const decoded = (text) => decodeSafetensors(new Uint8Array(Buffer.from(text, "base64"))).tensors;

const { blocks, cells } = JSON.parse(readFileSync(0, "utf-8"));
const scenes = blocks.map(({ model, query, layer, values }) => sceneOf(model, query, layer, decoded(values)));
process.stdout.write(JSON.stringify(cells.map((cell) => answer(scenes[cell.block], cell))));

function answer(scene, { at, learned }) {
  const { request, terms } = calculationOf(scene, at);
  if (request && !learned) return { request };
  const all = terms(learned ? decoded(learned) : null);
  return {
    sum: all.reduce((sum, { value }) => sum + value, 0),
    size: all.reduce((sum, { value }) => sum + Math.abs(value), 0),
    count: all.length,
  };
}

/** The scene of a run that has this model, whose prompt ends with the row. */
function sceneOf(model, query, layer, values) {
  const { heads, kv_heads: kvHeads } = model;
  const run = {
    open: { model },
    heads,
    kvHeads,
    reused: 0,
    prefillRows: query + 1,
    promptLength: query + 1,
    stepOfQuery: () => 0,
    firstKey: () => Math.max(0, query + 1 - (model.windows?.[layer] ?? query + 1)),
  };
  return blockScene(run, { layer, query }, values);
}
