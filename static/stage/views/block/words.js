/** The words of the drawing of a block: names, shapes, operations, and the sentence under it. Pure. */

import { counted, fixed, integer, percent, quoted, significant } from "../../../shared/facts/format.js";
import { passesInWords } from "../../../shared/facts/passes.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { deltas } from "./scene.js";

/**
 * @typedef {{text: string, tone?: string, tail?: Line}} Line `tone`: "strong", "cached", "computed", "output" or "muted"
 * @param {Object} scene from blockScene
 * @param {boolean} [terse] there is little room over the lanes of keys
 * @returns {Object<string, Line[]>} lines by the name of the place in the drawing they belong to
 */
export function captions(scene, terse = false) {
  const { dims, rows, layer, query, run, stood } = scene;
  const tone = stood ? "cached" : "computed";
  const delta = deltas(scene);
  const flat = (width) => ({ text: shape(rows, width), tone: "muted" });
  // Of all heads together, as the weights beside it give it; drawn are the heads of one row, below each other.
  const kept = (name) => [
    { text: name, tone: "strong" },
    flat(dims.kvHeads * dims.headDim),
    { text: `${counted(dims.kvHeads, "head")} × ${dims.headDim}`, tone: "muted" },
  ];
  const ownOnly = { text: "own row only", tone: "muted" };
  const change = (half) =>
    half
      ? [
          { text: `length ${significant(half.change)}` },
          { text: `${percent(half.share, 0)} of the row`, tone: "muted" },
        ]
      : [];
  const tail = (text, tone) => (terse ? {} : { tail: { text, tone } });
  const columns = (kind, from) =>
    terse
      ? `${kind}: ${integer(query + 1)} read`
      : from
        ? `${kind}: ${integer(from)} read + ${integer(query + 1 - from)} new`
        : `${kind}: ${integer(query + 1)} read, ${query ? "all " : ""}new`;
  const last = layer === run.layers - 1;
  return {
    attention: [{ text: "Attention half: the only place where tokens meet", tone: "strong" }],
    mlp: [{ text: "MLP half: each token alone", tone: "strong" }],
    stream: [{ text: "residual stream: the row is carried on; each half only adds a change", tone: "computed" }],
    resid_in: [{ text: `row of ${quoted(run.tokens[query], 9)}` }, flat(dims.d)],
    "attn.normed": [flat(dims.d), ownOnly],
    "attn.q_rot": [
      { text: "Q", tone: "strong" },
      { text: "lives one", tone: "computed" },
      { text: "step", tone: "computed" },
    ],
    streamShort: [
      { text: "residual stream (left edge): the row", tone: "computed" },
      { text: "is carried on; halves add changes", tone: "computed" },
    ],
    qLong: [
      {
        text: "Q",
        tone: "strong",
        tail: { text: `of ${counted(dims.heads, "head")}; lives one step`, tone: "computed" },
      },
    ],
    ownLong: [
      { text: dims.rotary ? "own K, K turned by RoPE, own V" : "own K, own V", tone: "strong" },
      { text: "they join the shelf as its amber column", tone: "computed" },
    ],
    mixedLong: [
      {
        text: "Σ weight × V",
        tone: "strong",
        tail: { text: `reads all V; ${counted(dims.heads, "head")}`, tone: "cached" },
      },
    ],
    "attn.scores": [{ text: `q·k ÷ √${dims.headDim}`, tone: "strong", ...tail("reads all K", "cached") }],
    "attn.weights": [{ text: "softmax", tone: "strong", ...tail("own scores only", "muted") }],
    "attn.mixed": [
      { text: "Σ weight × V", tone: "strong" },
      { text: "reads all V", tone: "cached" },
    ],
    "attn.change": [flat(dims.d), ownOnly, ...change(delta?.attention)],
    "attn.k_rot": kept("K"),
    "attn.v": kept("V"),
    readK: [{ text: columns("K", stood), tone }],
    readV: [{ text: columns("V", stood), tone }],
    shelf: [{ text: shelfText(scene) }],
    append: [{ text: "append", tone: "computed" }],
    "mlp.normed": [flat(dims.d), ownOnly],
    "mlp.gate": [{ text: "gate", tone: "muted" }],
    "mlp.raised": [{ text: "up", tone: "muted" }],
    "mlp.hidden": [flat(dims.mlp)],
    "mlp.change": [...change(delta?.mlp)],
    resid_out: [{ text: last ? "to the head" : `to layer ${layer + 1}`, tone: "output" }],
  };
}

function shape(rows, width) {
  return `[${integer(rows)} × ${integer(width)}]`;
}

function shelfText({ layer, prefill, dims, positions, rows, stood }) {
  const group = dims.heads / dims.kvHeads;
  const shared = group > 1 ? `; each KV head serves ${group} query heads` : "";
  if (prefill && !stood) {
    const written = positions === 1 ? "its only column" : `all ${integer(positions)} columns at once`;
    return `KV cache of layer ${layer}: prefill writes ${written} (amber)${shared}`;
  }
  return `KV cache of layer ${layer}: ${counted(stood, "column")} stood there (blue), this step writes ${rows === 1 ? "one" : integer(rows)} (amber)${shared}`;
}

/**
 * Operations with their weights, as chips of one or two lines.
 *
 * @returns {Object<string, {lines: string[], title: string, weights: boolean}>} `weights`: learned numbers take part
 */
export function chips({ dims, query }) {
  const { d, heads, kvHeads, headDim, mlp, gated, rotary, centred } = dims;
  const norm = centred ? "LayerNorm" : "RMSNorm";
  const { called, means } = ACTIVATIONS[dims.activation];
  const times = (name, from, to) => ({
    lines: [`× ${name}`, `${from}×${to}`],
    title: `${name}: ${integer(from)} × ${integer(to)} learned weights, the same for every token`,
    weights: true,
  });
  const normed = {
    lines: [norm],
    title: `${norm}: brings this row to a common size; no other row takes part`,
    weights: true,
  };
  const rope = {
    lines: ["RoPE", `at ${integer(query)}`],
    title: `RoPE: turns pairs of numbers by an angle that grows with the position, ${integer(query)}`,
    weights: false,
  };
  return {
    norm1: normed,
    norm2: normed,
    wq: times("W_Q", d, heads * headDim),
    wk: times("W_K", d, kvHeads * headDim),
    wv: times("W_V", d, kvHeads * headDim),
    wo: times("W_O", heads * headDim, d),
    wgate: times("W_gate", d, mlp),
    wup: times("W_up", d, mlp),
    wdown: times("W_down", mlp, d),
    softmax: { lines: ["→"], title: "softmax over each row of scores", weights: false },
    activation: {
      lines: [gated ? `${called}(gate) × up` : called],
      title: `${means}, number by number`,
      weights: false,
    },
    ...(rotary ? { ropeQ: rope, ropeK: rope } : {}),
  };
}

/** @returns {{strong: string, text: string, cached: string, computed: string, delta: string}} what happens, in plain words */
export function sentence(scene) {
  const { run, query, rows, prefill, layer, dims, positions, stood } = scene;
  const name = quoted(run.tokens[query]);
  const seen = Math.min(query + 1, dims.window ?? query + 1);
  const keys = counted(seen, "key");
  const measured = deltas(scene);
  const delta = measured
    ? `Attention changes the row by ${percent(measured.attention.share, 0)} of its length, the MLP by ` +
      `${percent(measured.mlp.share, 0)}.`
    : "";
  if (!prefill) {
    return {
      strong: `One query, ${keys}, ${dims.heads === 1 ? "once: there is one head" : `${dims.heads} times: once per head`}.`,
      text:
        `${name} makes its own Q, K and V. Its K and V join the ${integer(query)} already on the shelf; its Q reads ` +
        `${seen <= query ? "the newest" : "all"} ${integer(seen)} and is thrown away: no later token asks for it.`,
      cached: `${counted(query, "column")} of K and V reused`,
      computed: "1 computed",
      delta,
    };
  }
  const later = positions - query - 1;
  return {
    strong:
      rows === 1
        ? "Prefill, one row."
        : `Prefill: ${integer(rows)} rows go through layer ${layer} ${passesInWords(run)}.`,
    text:
      `This is the row of ${name}, number ${integer(query + 1)} of ${integer(positions)}. ` +
      (seen > 1 ? `It may read itself and the ${integer(seen - 1)} before it` : "It may read only itself") +
      (later ? `; the ${integer(later)} after it ${later === 1 ? "is" : "are"} hidden from it.` : "."),
    cached: stood ? `${counted(stood, "column")} of K and V reused, from an earlier run` : "Nothing reused yet",
    computed: `${counted(rows, "column")} of K and V computed, and kept`,
    delta,
  };
}

/** @returns {string} one head's weights in words, for those who do not see the drawing */
export function headInWords(head, { key, weight }, run, exact) {
  return `Head ${head} looks most at ${quoted(run.tokens[key])}, weight ${fixed(weight, 2)}${exact ? "" : " ± 0.004"}`;
}
