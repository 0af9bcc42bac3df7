/** The models and GPUs of the calculator, for its tests. */

import { readFileSync } from "node:fs";

const read = (folder, name) =>
  JSON.parse(readFileSync(new URL(`../../../kvscope/static/${folder}/${name}`, import.meta.url), "utf8"));

export const MODELS = read("shared/sizes", "models.json");
export const GPUS = read("shared/sizes", "gpus.json");

export function modelOf(id) {
  const found = MODELS.find((model) => model.id === id);
  if (!found) throw new Error(`no model ${id}`);
  return found;
}

export function gpuOf(id) {
  const found = GPUS.find((gpu) => gpu.id === id);
  if (!found) throw new Error(`no GPU ${id}`);
  return found;
}

/** A model of two layers whose sizes are plain to multiply: 2 × 2 × 1 × 4 × 2 = 32 bytes of each token. */
export function small(changes = {}) {
  return {
    ...{ name: "small", family: "llama", layers: 2, d: 8, heads: 2, kv_heads: 1, head_dim: 4, d_mlp: 16, vocab: 10 },
    ...{ tied: true, context: null, window: null, mla: null, moe: null },
    ...changes,
  };
}
