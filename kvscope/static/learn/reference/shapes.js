/** The shape of every tensor of one prefill and of one decode step. Pure. */

import { fixed } from "../../shared/facts/format.js";
import { ACTIVATIONS } from "../../shared/log/activations.js";
import { msg } from "../../shared/words/msg.js";

/**
 * @typedef {(string|number)[]} Shape its axes: names of sizes, or 1
 * @typedef {{id: string, name: string, prefill: Shape, decode: Shape, kind: string, says?: string}} Row `kind`:
 *   "weights", learned; "cached", stays in the cache after the step; "computed", used in this step only; "ids", the same, of whole numbers
 *
 * @param {Object} model of an `open` frame, complete
 * @returns {{id: string, name: string, rows: Row[]}[]} in the order in which a step computes them; `name`: of the part of the model
 */
export function shapesOf(model) {
  const computed = (id, name, prefill, decode, says = "") => ({ id, name, prefill, decode, kind: "computed", says });
  const weights = (id, shape, says = "") => ({ id, name: id, prefill: shape, decode: shape, kind: "weights", says });
  const rows = (width) => [
    ["N", width],
    [1, width],
  ];
  const heads = (count) => [
    [count, "N", "d_head"],
    [count, 1, "d_head"],
  ];
  const norm = model.norm === "layer" ? "LayerNorm" : "RMSNorm";
  const { name: activation } = ACTIVATIONS[model.activation];
  const after = (id, name, width, has) => (has ? [computed(id, name, ...width, msg`before it is added`)] : []);
  const normed = (id) => computed(id, msg`after ${norm}`, ...rows("d"), msg`each row alone`);
  const kv = (name) => ({
    ...computed(
      `cache.${name}`,
      msg`${name} in the cache, after this step`,
      ["h_kv", "N", "d_head"],
      ["h_kv", "T", "d_head"],
    ),
    kind: "cached",
  });
  return [
    {
      id: "embed",
      name: msg`Embedding`,
      rows: [
        { ...computed("ids", msg`token ids`, ["N"], [1], msg`whole numbers`), kind: "ids" },
        weights(msg`embedding table`, ["vocab", "d"]),
        ...(model.positions === "learned" ? [weights(msg`position table`, ["context", "d"])] : []),
        computed("embedded", msg`rows of the tokens`, ...rows("d"), scaleNote(model)),
      ],
    },
    {
      id: "attention",
      name: msg`Attention, in each of L layers`,
      rows: [
        normed("attn.normed"),
        weights("W_Q", ["d", "h·d_head"]),
        weights("W_K, W_V", ["d", "h_kv·d_head"], msg`one each`),
        computed("q", "Q", ...heads("h"), msg`used once, never cached`),
        computed("kv", msg`new K, new V`, ...heads("h_kv"), msg`one each`),
        ...(model.qk_norm
          ? [
              computed(
                "headNorms",
                msg`Q and new K after ${norm}`,
                ...heads("h"),
                msg`each head alone; K has h_kv heads`,
              ),
            ]
          : []),
        kv("K"),
        kv("V"),
        computed("scores", msg`scores, Q·Kᵀ ÷ √d_head`, ["h", "N", "N"], ["h", 1, "T"], windowNote(model)),
        computed("weights", msg`attention weights, softmax of the scores`, ["h", "N", "N"], ["h", 1, "T"]),
        computed("mixed", msg`head outputs, weights·V`, ...heads("h")),
        computed("joined", msg`all heads side by side`, ...rows("h·d_head")),
        weights("W_O", ["h·d_head", "d"]),
        ...after("attn.post", msg`after ${norm}`, rows("d"), model.post_norms),
        computed("attn.change", msg`change, added to the rows`, ...rows("d")),
      ],
    },
    {
      id: "mlp",
      name: msg`MLP (FFN), in each of L layers`,
      rows: [
        normed("mlp.normed"),
        ...(model.gated
          ? [
              weights("W_gate, W_up", ["d", "d_ff"], msg`one each`),
              computed("gate", msg`gate, up`, ...rows("d_ff"), msg`one each`),
            ]
          : [weights("W_up", ["d", "d_ff"]), computed("up", msg`up`, ...rows("d_ff"))]),
        computed("hidden", model.gated ? msg`${activation}(gate) × up` : msg`${activation}(up)`, ...rows("d_ff")),
        weights("W_down", ["d_ff", "d"]),
        ...after("mlp.post", msg`after ${norm}`, rows("d"), model.post_norms),
        computed("mlp.change", msg`change, added to the rows`, ...rows("d")),
      ],
    },
    {
      id: "end",
      name: msg`Choosing the next token`,
      rows: [
        computed(
          "final",
          msg`last row, after ${norm}`,
          [1, "d"],
          [1, "d"],
          msg`the other rows of prefill are not needed here`,
        ),
        weights(msg`LM head`, ["d", "vocab"], model.tied ? msg`the embedding table again (tied weights)` : ""),
        computed(
          "logits",
          msg`logits`,
          [1, "vocab"],
          [1, "vocab"],
          msg`printed as [N × vocab] where all rows are used, as in training`,
        ),
        computed("probabilities", msg`probabilities`, ["vocab"], ["vocab"]),
        { ...computed("next", msg`id of the next token`, [], []), kind: "ids" },
      ],
    },
  ];
}

function scaleNote({ embedding_scale: scale }) {
  return scale === 1 ? "" : msg`multiplied by ${fixed(scale, 2)}`;
}

function windowNote({ windows }) {
  const some = windows?.find((window) => window !== null);
  return some ? msg`in local layers, only the newest ${some} keys count, and the cache holds no others` : "";
}

/** @returns {Object<string, number>} the size of each axis */
export function sizesOf(model, { n, t }) {
  const { d, heads, kv_heads, head_dim, d_mlp, vocab, context } = model;
  return {
    ...{ N: n, T: t, d, h: heads, h_kv: kv_heads, d_head: head_dim, d_ff: d_mlp, vocab, context },
    h·d_head: heads * head_dim,
    h_kv·d_head: kv_heads * head_dim,
  };
}

/** @returns {number[]} the shape in numbers; a batch of more than one prompt is its first axis, but not of weights */
export function numbersOf(shape, sizes, batch = 1) {
  const axes = shape.map((axis) => (typeof axis === "number" ? axis : sizes[axis]));
  return batch > 1 ? [batch, ...axes] : axes;
}

/** @returns {number} how many numbers a tensor of this shape has; a scalar has one */
export const countOf = (axes) => axes.reduce((product, axis) => product * axis, 1);
