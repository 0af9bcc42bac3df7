import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { valueAt, valueFacts } from "../../../../../kvscope/static/stage/views/block/facts.js";
import {
  blockScene,
  deltas,
  strongestKey,
  weightOutside,
} from "../../../../../kvscope/static/stage/views/block/scene.js";
import { calculationOf } from "../../../../../kvscope/static/stage/views/block/terms.js";
import { captions, chips, sentence } from "../../../../../kvscope/static/stage/views/block/words.js";
import { madeBlock } from "../../../support/made-block.js";
import { LIKE_GPT2, madeRun } from "../../../support/made-run.js";

const SHAPE = { heads: 4, kvHeads: 2, headDim: 8 };
const WORDS = ["The", " cat", " sat", " on", " the"];

function made({ query = 4, exact = true, kind = {} } = {}) {
  const run = madeRun({
    windows: kind.windows ?? null,
    words: WORDS,
    promptLength: 3,
    layers: 2,
    ...SHAPE,
    row: (_l, head, at) => new Array(at + 1).fill(0).map((_, key) => (key === head % (at + 1) ? 255 : 0)),
  });
  Object.assign(run.open.model, kind);
  const { gated } = run.open.model;
  return blockScene(run, { layer: 1, query }, exact ? madeBlock({ ...SHAPE, keys: query + 1, gated }) : null);
}

const number = (text) => Number(text.replaceAll("\u2212", "-").replaceAll(",", ""));
const place = (tensor, { part = null, index = null, key = null }) => ({ tensor, part, index, key });

describe("one value of a block", () => {
  test("the row after attention is the row plus the change, with these numbers", () => {
    const scene = made();
    const { value, notes } = valueFacts(scene, place("resid_mid", { index: 5 }));
    const shown = /= (\S+) ([+−]) (\S+):/.exec(notes[0]);
    const total = number(shown[1]) + (shown[2] === "+" ? 1 : -1) * number(shown[3]);
    assert.ok(Math.abs(total - number(value)) < 0.011, notes[0]);
    assert.ok(Math.abs(number(value) - scene.values.resid_mid.data[5]) < 0.005);
  });

  test("RoPE rotated the numbers that are half a head apart as a pair, for the row's position", () => {
    const scene = made();
    const { data: before } = scene.values["attn.q"];
    const { data: after } = scene.values["attn.q_rot"];
    for (const index of [2, 6]) {
      const { notes } = valueFacts(scene, place("attn.q_rot", { part: 1, index }));
      const [, ...shown] = /pair 2, 6 for position 4: \((\S+), (\S+)\) → \((\S+), (\S+)\)/.exec(notes[1]).map(number);
      for (const [i, value] of [before[8 + 2], before[8 + 6], after[8 + 2], after[8 + 6]].entries())
        assert.ok(Math.abs(shown[i] - value) < 0.005, notes[1]);
    }
  });

  test("a capped score shows the number that is capped, and the cap", () => {
    const scene = made({ kind: { score_cap: 0.5 } });
    const at = place("attn.scores", { part: 3, key: 2 });
    const { notes } = valueFacts(scene, at);
    const dot = scene.values["attn.q_rot"].data
      .subarray(24, 32)
      .reduce((sum, value, i) => sum + value * scene.values["cache.k"].data[(1 * 5 + 2) * 8 + i], 0);
    const [, uncapped] = /^= (\S+), then capped: 0\.5 × tanh\(\S+ ÷ 0\.5\)$/.exec(notes[1]).map(number);
    assert.ok(Math.abs(uncapped - dot / Math.sqrt(8)) < 0.005, notes[1]);
    const { formula, note, terms } = calculationOf(scene, at);
    assert.match(formula, /^s = Σ q × k ÷ √8; 0\.5 × tanh\(s ÷ 0\.5\)$/);
    assert.match(note, /the cap leaves/);
    const sum = terms(null).reduce((all, { value }) => all + value, 0);
    assert.ok(Math.abs(sum - 0.5 * Math.tanh(dot / Math.sqrt(8) / 0.5)) < 1e-6);
    assert.match(captions(scene)["attn.scores"][0].text, /√8, capped/);
  });

  test("an MLP that reads the row before attention is said to, and its norm is of that row", () => {
    const scene = made({ kind: { parallel: true } });
    const [x] = scene.values.resid_in.data.subarray(4);
    const { notes } = valueFacts(scene, place("mlp.normed", { index: 4 }));
    assert.ok(Math.abs(number(/RMSNorm: (\S+) ÷/.exec(notes[0])[1]) - x) < 0.005, notes[0]);
    assert.match(sentence(scene).text, /Attention and MLP read the same row/);
    assert.match(captions(scene).mlp[0].text, /^MLP: reads the layer’s input$/);
    assert.doesNotMatch(sentence(made()).text, /the same row/);
  });

  test("a score is q times k of the K/V head it reads, over the root of the head dim", () => {
    const scene = made();
    const { notes } = valueFacts(scene, place("attn.scores", { part: 3, key: 2 }));
    const q = scene.values["attn.q_rot"].data.subarray(24, 32);
    const k = scene.values["cache.k"].data.subarray((5 + 2) * 8, (5 + 3) * 8); // KV head 1 of 2, 5 keys
    const dot = q.reduce((sum, value, i) => sum + value * k[i], 0);
    assert.match(notes[0], /÷ √8/);
    assert.ok(Math.abs(number(/√8 = (\S+) ÷/.exec(notes[0])[1]) - dot) < 0.006, notes[0]);
  });

  test("a weight is its exponential over the sum of the row", () => {
    const scene = made();
    const { value, notes } = valueFacts(scene, place("attn.weights", { part: 1, key: 3 }));
    const [, score, largest, sum, keys] = /exp\((\S+) − (\S+)\) ÷ (\S+), the sum over (\d+) keys/.exec(notes[0]);
    assert.equal(keys, "5");
    const weight = Math.exp(number(score) - number(largest)) / number(sum);
    assert.ok(Math.abs(weight - number(value.replace("weight ", ""))) < 0.01);
  });

  test("inside the MLP: silu(gate) × up, or gelu where there is no gate", () => {
    const scene = made();
    const gate = scene.values["mlp.gate"].data[9];
    const { notes } = valueFacts(scene, place("mlp.hidden", { index: 9 }));
    const factor = number(/\) × \S+ = (\S+) ×/.exec(notes[0])[1]);
    assert.ok(Math.abs(factor - gate / (1 + Math.exp(-gate))) < 0.005, notes[0]);
    assert.match(valueFacts(made({ kind: LIKE_GPT2 }), place("mlp.hidden", { index: 9 })).notes[0], /^= gelu\(/);
  });

  test("every value of every tensor is shown as it is", () => {
    const scene = made();
    for (const [tensor, { shape, data }] of Object.entries(scene.values)) {
      if (tensor === "attn.q") continue;
      const last = shape.at(-1) - 1;
      const at = place(tensor, {
        part: shape.length > 1 ? shape[0] - 1 : null,
        index: tensor === "attn.scores" || tensor === "attn.weights" ? null : last,
        key: shape.length === 3 || tensor === "attn.scores" || tensor === "attn.weights" ? 4 : null,
      });
      assert.equal(valueAt(scene, at), data.at(-1), tensor);
      const shown = number(valueFacts(scene, at).value.replace(/^(weight|score) /, ""));
      assert.ok(Math.abs(shown - data.at(-1)) < 0.006, tensor);
    }
  });

  test("a position after the row has no value", () => {
    const scene = made({ query: 1 });
    assert.equal(valueFacts(scene, place("attn.weights", { part: 0, key: 2 })).title, "Masked");
    assert.equal(valueFacts(scene, place("cache.k", { part: 0, index: 0, key: 2 })).title, "Masked");
  });
});

describe("a block as a whole", () => {
  test("without the model the log's weights are shown, with their precision", () => {
    const scene = made({ exact: false });
    assert.deepEqual(Object.keys(scene.values), ["attn.weights"]);
    assert.deepEqual(strongestKey(scene, 2), { key: 2, weight: 1 });
    assert.equal(deltas(scene), null);
    assert.match(valueFacts(scene, place("attn.weights", { part: 2, key: 2 })).value, /^weight 1\.000 ± 0\.004$/);
    assert.match(valueFacts(scene, place("resid_in", { index: 0 })).value, /not available/);
  });

  test("the weight outside what is shown is that of the head that has most there", () => {
    const scene = made({ exact: false });
    assert.equal(weightOutside(scene, [[0, 4]]), 0);
    assert.equal(weightOutside(scene, [[0, 2]]), 1);
  });

  test("how long a change is beside its row", () => {
    const { attention } = deltas(made());
    const { values } = made();
    const length = (name) => Math.hypot(...values[name].data);
    assert.ok(Math.abs(attention.share - length("attn.change") / length("resid_in")) < 1e-6);
  });

  test("decode: the sentence counts what is reused and what is computed", () => {
    const { strong, text, cached, computed } = sentence(made());
    assert.match(strong, /^One query and 5 keys/);
    assert.match(text, /“the”.* those of 4 earlier tokens in the cache\. Its Q reads all 5/);
    assert.match(cached, /4 tokens reused$/);
    assert.match(computed, /1 token are computed/);
  });

  test("prefill: all rows at once, later ones masked", () => {
    const { strong, text, computed } = sentence(made({ query: 1 }));
    assert.match(strong, /3 rows, one per token, go through layer 1 at once/);
    assert.match(text, /number 2 of 3\. It can read itself and the 1 row before it\. The 1 row after it is masked/);
    assert.match(computed, /3 tokens/);
  });

  test("shapes and weights are the model's own", () => {
    const scene = made({ query: 1 });
    assert.equal(captions(scene).resid_in[1].text, "[3 × 32]");
    assert.equal(captions(made()).resid_in[1].text, "[1 × 32]");
    assert.deepEqual(chips(scene).wk.lines, ["× W_K", "32×16"]);
    assert.deepEqual(chips(scene).wdown.lines, ["× W_down", "64×32"]);
  });

  test("each property of a model changes the drawing independently", () => {
    assert.equal(chips(made({ kind: { positions: "learned" } })).ropeQ, undefined);
    assert.deepEqual(chips(made({ kind: { positions: "learned" } })).norm1.lines, ["RMSNorm"]);
    const centred = made({ kind: { norm: "layer" } });
    assert.deepEqual([chips(centred).norm1.lines, chips(centred).ropeQ.lines[0]], [["LayerNorm"], "RoPE"]);
    assert.match(valueFacts(centred, place("attn.normed", { index: 3 })).notes[0], /^LayerNorm/);
    assert.match(calculationOf(centred, place("attn.normed", { index: 3 })).note, /^LayerNorm/);
    assert.deepEqual(chips(made({ kind: LIKE_GPT2 })).activation.lines, ["gelu"]);
    const gelu = made({ kind: { activation: "gelu_tanh" } });
    assert.deepEqual(chips(gelu).activation.lines, ["gelu(gate) × up"]);
    assert.match(valueFacts(gelu, place("mlp.hidden", { index: 9 })).notes[0], /^= gelu\(\S+\) × /);
    assert.equal(calculationOf(gelu, place("mlp.hidden", { index: 9 })).note, "GEGLU");
    assert.equal(calculationOf(made({ kind: { qk_norm: true } }), place("attn.q", { part: 0, index: 1 })), null);
  });

  test("a query sees no more than its layer's window", () => {
    const windows = [null, 3];
    assert.match(sentence(made({ kind: { windows } })).strong, /^One query and 3 keys/);
    assert.match(
      sentence(made({ kind: { windows } })).text,
      /Its K and V join those of 2 earlier tokens in the cache. Its Q reads all 3 .* This layer is local: .* newest 3 keys/,
    );
    assert.match(sentence(made({ kind: { windows: [3, null] } })).text, /Its Q reads all 5/);
    assert.match(sentence(made({ query: 2, kind: { windows: [2, 2] } })).text, /itself and the 1 row before it/);
  });
});
