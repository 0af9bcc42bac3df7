/**
 * Computes passes of a packed model in Node. Standard input: {wasm, folder, positions, passes, read, table, copied}; `folder` has packed.json
 * and packed.bin, as kvscope/model/native/packed.py describes them. Standard output: {passes, caches, table, memory}.
 *
 * A pass is what `compute` takes, with the hook points `points` whose values are shown, and as `entering` [pass, layer, point] a value of an
 * earlier one. `read` has slots whose K and V are shown, `table` the first row of the embedding and a count, and `copied` what `copyRows`
 * takes, after all passes.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createModel } from "../../../../kvscope/static/engine/native/model.js";
import { compute } from "../../../../kvscope/static/engine/native/pass.js";

const { wasm, folder, positions, passes, read, table, copied } = JSON.parse(readFileSync(0, "utf-8"));
const packed = JSON.parse(readFileSync(join(folder, "packed.json"), "utf-8"));
const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(wasm)));
const model = createModel({ instance, packed, positions });
const bytes = readFileSync(join(folder, "packed.bin"));
const half = bytes.length >> 1;
model.load(half, bytes.subarray(half));
model.load(0, bytes.subarray(0, half));

const answers = [];
for (const { points, entering, ...of } of passes) {
  const values = [];
  const onLayer = points && ((_, value) => values.push(Object.fromEntries(points.map((name) => [name, value(name)]))));
  const [from, layer, point] = entering ?? [];
  const rows = entering && answers[from].values[layer][point];
  answers.push(
    compute(model, { ...of, entering: rows, onLayer }, ({ logits, final, captured, experts, summary }) => ({
      ...{ logits: Array.from(logits), final: Array.from(final), captured, experts },
      summaries: (of.outs ?? [0]).map((_, out) => summary(out)),
      values,
    })),
  );
}
const { head_dim: width, kv_heads: heads, layers } = packed.model;
/** Returns K, then V, of each layer at some slots: [heads, slots, width]. */
const cacheOf = (slots) =>
  layers.flatMap((_, layer) =>
    Object.values(model.cacheOf(layer)).map((pool) =>
      Array.from({ length: heads }, (_, head) => slots.map((slot) => (head * positions + slot) * width))
        .flat()
        .flatMap((start) => Array.from(pool.subarray(start, start + width))),
    ),
  );
if (copied) model.copyRows(...copied);
const memory = model.memory.all().byteLength;
const shown = (_, value) => (ArrayBuffer.isView(value) ? Array.from(/** @type {Float32Array} */ (value)) : value);
const results = {
  passes: answers,
  caches: read.map(cacheOf),
  table: model.rowsOf(packed.model.table, ...table),
  memory,
};
process.stdout.write(JSON.stringify(results, shown));
