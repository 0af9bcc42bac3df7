/** The shape of every tensor of one prefill and of one decode step. Pure. */

import { fixed } from "../../shared/facts/format.js";
import { axesOf, textbookAxesAt } from "../../shared/facts/shapes.js";
import { ACTIVATIONS } from "../../shared/log/activations.js";
import { cappedText } from "../../shared/log/model.js";
import { msg } from "../../shared/words/msg.js";

/**
 * @typedef {{id: string, name: string, axes: import("../../shared/facts/shapes.js").Axis[], kind: string, says?: string}} Row `kind`:
 *   "weights", learned; "cached", stays in the cache after the step; "computed", used in this step only; "ids", the same, of whole numbers
 *
 * @param {Object} model of an `open` frame, complete
 * @returns {{id: string, name: string, rows: Row[]}[]} in the order in which a step computes them; `name`: of the part of the model
 */
export function shapesOf(model) {
  const computed = (id, name, axes, says = "") => ({ id, name, axes, kind: "computed", says });
  const at = (point, name, says) => computed(point, name, textbookAxesAt(point), says);
  const weights = (name, matrix, says = "") => ({ id: name, name, axes: axesOf(matrix), kind: "weights", says });
  const cached = (name) => ({
    ...computed(`cache.${name}`, msg`${name} in the cache, after this step`, ["Hkv", "K", "Dh"]),
    kind: "cached",
  });
  const norm = model.norm === "layer" ? "LayerNorm" : "RMSNorm";
  const { name: activation } = ACTIVATIONS[model.activation];
  const beforeAdded = (point) => (model.post_norms ? [at(point, msg`after ${norm}`, msg`before it is added`)] : []);
  return [
    {
      id: "embed",
      name: msg`Embedding`,
      rows: [
        { ...computed("ids", msg`token ids`, ["T"], msg`whole numbers`), kind: "ids" },
        weights(msg`embedding table`, "embed"),
        ...(model.positions === "learned" ? [weights(msg`position table`, "positions")] : []),
        at("embedded", msg`rows of the tokens`, scaleNote(model)),
      ],
    },
    {
      id: "attention",
      name: msg`Attention, in each of L layers`,
      rows: [
        at("attn.normed", msg`after ${norm}`, msg`each row alone`),
        weights("W_Q", "attn.q"),
        weights("W_K, W_V", "attn.k", msg`one each`),
        at("attn.q_rot", "Q", msg`used once, never cached`),
        at("attn.k_rot", msg`new K, new V`, msg`one each`),
        ...(model.qk_norm
          ? [at("attn.q", msg`Q and new K after ${norm}`, msg`each head alone; K has h_kv heads`)]
          : []),
        cached("K"),
        cached("V"),
        at("attn.scores", msg`scores, Q·Kᵀ ÷ ${scoreRoot(model)}`, scoresNote(model)),
        at("attn.weights", msg`attention weights, softmax of the scores`),
        at("attn.mixed", msg`head outputs, weights·V`),
        computed("joined", msg`all heads side by side`, ["T", "H*Dh"]),
        weights("W_O", "attn.out"),
        ...beforeAdded("attn.raw_change"),
        at("attn.change", msg`change, added to the rows`),
      ],
    },
    {
      id: "mlp",
      name: msg`MLP (FFN), in each of L layers`,
      rows: [
        at("mlp.normed", msg`after ${norm}`, model.parallel ? msg`of the rows before attention` : msg`each row alone`),
        ...(model.gated
          ? [weights("W_gate, W_up", "mlp.gate", msg`one each`), at("mlp.gate", msg`gate, up`, msg`one each`)]
          : [weights("W_up", "mlp.up"), at("mlp.raised", msg`up`)]),
        at("mlp.hidden", model.gated ? msg`${activation}(gate) × up` : msg`${activation}(up)`),
        weights("W_down", "mlp.down"),
        ...beforeAdded("mlp.raw_change"),
        at("mlp.change", msg`change, added to the rows`),
      ],
    },
    {
      id: "end",
      name: msg`Choosing the next token`,
      rows: [
        at("final", msg`last row, after ${norm}`, msg`the other rows of prefill are not needed here`),
        weights(msg`LM head`, "lm_head", model.tied ? msg`the embedding table again (tied weights)` : ""),
        computed(
          "logits",
          msg`logits`,
          ["N", "V"],
          [
            msg`printed as [N × vocab] where all rows are used, as in training`,
            model.logit_cap && msg`capped: ${cappedText("logit", model.logit_cap)}`,
          ]
            .filter(Boolean)
            .join("; "),
        ),
        computed("probabilities", msg`probabilities`, ["V"]),
        { ...computed("next", msg`id of the next token`, []), kind: "ids" },
      ],
    },
  ];
}

/** @returns {string} what scores are divided by: for most models, the root of the size of a head */
export function scoreRoot({ score_width: width, head_dim: size }) {
  return width === undefined || width === size ? "√d_head" : `√${width}`;
}

function scaleNote({ embedding_scale: scale }) {
  return scale === 1 ? "" : msg`multiplied by ${fixed(scale, 2)}`;
}

function scoresNote({ windows, score_cap: cap }) {
  const some = windows?.find((window) => window !== null);
  return [
    cap && msg`then capped: ${cappedText("s", cap)}`,
    some && msg`in local layers, only the newest ${some} keys count, and the cache holds no others`,
  ]
    .filter(Boolean)
    .join("; ");
}
