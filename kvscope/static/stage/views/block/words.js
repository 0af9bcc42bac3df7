/** The texts in the drawing of a block (labels, shapes, operations) and the paragraph under it. Pure. */

import { fixed, integer, percent, quoted, significant } from "../../../shared/facts/format.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { MATRICES, sizesOf } from "./matrices.js";
import { deltas } from "./scene.js";

/**
 * Returns the labels of the drawing.
 *
 * @typedef {{text: string, tone?: string, tail?: Line}} Line `tone`: "strong", "cached", "computed", "output" or "muted"
 * @param {Object} scene of `blockScene`
 * @param {boolean} [terse] whether the lanes of keys are too narrow for more than a few words
 * @returns {Object<string, Line[]>} lines by the name of their place in the drawing
 */
export function captions(scene, terse = false) {
  const { dims, rows, layer, query, run } = scene;
  const tone = scene.cachedBefore ? "cached" : "computed";
  const inWindow = scene.first > 0 ? integer(query + 1 - scene.first) : null;
  const delta = deltas(scene);
  const flat = (width) => ({ text: shape(rows, width), tone: "muted" });
  const { heads, kvHeads, headDim, scoreWidth, scoreCap } = dims;
  // The shape counts all heads together, like the shape of the weights beside it; the drawing shows the heads of one row.
  const ofHeads = (name) => [
    { text: name, tone: "strong" },
    flat(kvHeads * headDim),
    { text: plural(kvHeads, form`${kvHeads} head × ${headDim}`, form`${kvHeads} heads × ${headDim}`), tone: "muted" },
  ];
  const rowOnly = { text: msg`own row only`, tone: "muted" };
  const change = (half) =>
    half
      ? [
          { text: msg`length ${significant(half.change)}` },
          { text: msg`${percent(half.share, 0)} of the row`, tone: "muted" },
        ]
      : [];
  const tail = (text, tone) => (terse ? {} : { tail: { text, tone } });
  return {
    attention: [{ text: msg`Attention: the only part that reads other tokens`, tone: "strong" }],
    mlp: [{ text: mlpText(dims), tone: "strong" }],
    "mlp.probabilities": [{ text: msg`${dims.experts?.chosen} of ${dims.experts?.count} chosen`, tone: "muted" }],
    ...Object.fromEntries(
      scene.experts.map(({ expert, share }, rank) => [`expert ${rank}`, [{ text: `e${expert} ${percent(share, 0)}` }]]),
    ),
    stream: [{ text: streamText(dims), tone: "computed" }],
    resid_in: [{ text: msg`row of ${quoted(run.tokens[query], 9)}` }, flat(dims.d)],
    "attn.normed": [flat(dims.d), rowOnly],
    "attn.q_rot": [{ text: "Q", tone: "strong" }, ...linesOf(msg`this step\nonly`, "computed")],
    streamShort: linesOf(msg`residual stream (left edge):\nattention and MLP add changes`, "computed"),
    qLong: [
      {
        text: "Q",
        tone: "strong",
        tail: {
          text: plural(heads, form`${heads} head; this step only`, form`${heads} heads; this step only`),
          tone: "computed",
        },
      },
    ],
    ownLong: [
      { text: dims.rotary ? msg`own K, K after RoPE, own V` : msg`own K, own V`, tone: "strong" },
      { text: msg`appended to the cache (amber)`, tone: "computed" },
    ],
    mixedLong: [
      {
        text: msg`Σ weight × V`,
        tone: "strong",
        tail: {
          text: inWindow
            ? plural(heads, form`reads ${inWindow} V; ${heads} head`, form`reads ${inWindow} V; ${heads} heads`)
            : plural(heads, form`reads all V; ${heads} head`, form`reads all V; ${heads} heads`),
          tone: "cached",
        },
      },
    ],
    "attn.scores": [
      {
        text: scoreCap ? msg`q·k ÷ √${scoreWidth}, capped` : `q·k ÷ √${scoreWidth}`,
        tone: "strong",
        ...tail(inWindow ? msg`reads ${inWindow} K` : msg`reads all K`, "cached"),
      },
    ],
    "attn.weights": [{ text: msg`softmax`, tone: "strong", ...tail(msg`own scores only`, "muted") }],
    "attn.mixed": [
      { text: msg`Σ weight × V`, tone: "strong" },
      { text: inWindow ? msg`reads ${inWindow} V` : msg`reads all V`, tone: "cached" },
    ],
    "attn.change": [flat(dims.d), rowOnly, ...change(delta?.attention)],
    "attn.k_rot": ofHeads("K"),
    "attn.v": ofHeads("V"),
    readK: [{ text: columnsRead("K", scene, terse), tone }],
    readV: [{ text: columnsRead("V", scene, terse), tone }],
    cache: [{ text: cacheText(scene) }],
    append: [{ text: msg`append`, tone: "computed" }],
    "mlp.normed": [flat(dims.d), rowOnly],
    "mlp.gate": [{ text: msg`gate`, tone: "muted" }],
    "mlp.raised": [{ text: msg`up`, tone: "muted" }],
    "mlp.hidden": [dims.experts ? { text: msg`product`, tone: "muted" } : flat(dims.mlp)],
    "mlp.change": [...change(delta?.mlp)],
    resid_out: [{ text: layer === run.layers - 1 ? msg`to LM head` : msg`to layer ${layer + 1}`, tone: "output" }],
  };
}

function streamText({ parallel }) {
  return parallel
    ? msg`residual stream: attention and MLP both read the layer’s input, and each add a change`
    : msg`residual stream: attention and MLP each add a change to the row`;
}

function mlpText({ experts, parallel }) {
  if (experts) return msg`MLP of experts`;
  return parallel ? msg`MLP: reads the layer’s input` : msg`MLP: each token alone`;
}

const linesOf = (text, tone) => text.split("\n").map((line) => ({ text: line, tone }));

function shape(rows, width) {
  return `[${integer(rows)} × ${integer(width)}]`;
}

/** @returns {number} how many columns the row reads that were in the cache before the step */
function cachedRead({ cachedBefore, first }) {
  return Math.max(0, cachedBefore - first);
}

function columnsRead(kind, scene, terse) {
  const { query, first } = scene;
  const before = cachedRead(scene);
  const all = integer(query + 1 - first);
  if (terse) return msg`${kind}: ${all} read`;
  const [cached, computed] = [integer(before), integer(query + 1 - first - before)];
  if (before) return msg`${kind}: ${cached} read + ${computed} new`;
  return query ? msg`${kind}: ${all} read, all new` : msg`${kind}: ${all} read, new`;
}

function cacheText(scene) {
  const { layer, prefill, dims, positions, rows } = scene;
  const cachedBefore = cachedRead(scene);
  const group = dims.heads / dims.kvHeads;
  const [all, cached, written] = [positions, cachedBefore, rows].map(integer);
  const text =
    prefill && !cachedBefore
      ? plural(
          positions,
          form`KV cache of layer ${layer}: prefill writes ${all} token (amber)`,
          form`KV cache of layer ${layer}: prefill writes all ${all} tokens at once (amber)`,
        )
      : plural(
          cachedBefore,
          form`KV cache of layer ${layer}: ${cached} token cached before (blue), ${written} written in this step (amber)`,
          form`KV cache of layer ${layer}: ${cached} tokens cached before (blue), ${written} written in this step (amber)`,
        );
  return group > 1 ? `${text}; ${msg`each KV head serves ${group} query heads`}` : text;
}

/**
 * Operations with their weights, as chips of one or two lines.
 *
 * @returns {Object<string, {lines: string[], title: string, weights: boolean}>} `weights`: whether the operation has learned weights
 */
export function chips({ dims, query }) {
  const { gated, rotary, centred, headNorms, postNorms, experts, parallel } = dims;
  const norm = centred ? "LayerNorm" : "RMSNorm";
  const { called, means } = ACTIVATIONS[dims.activation];
  const position = integer(query);
  const times = (name, [from, to]) => ({
    lines: [`× ${name}`, `${from}×${to}`],
    title: msg`${name}: ${integer(from)} × ${integer(to)} learned weights, the same for every token`,
    weights: true,
  });
  const product = (of) => times(MATRICES[of].name, sizesOf(of, dims));
  const normed = {
    lines: [norm],
    title: msg`${norm}: scales this row to a common size; it reads no other row`,
    weights: true,
  };
  const ofHead = { ...normed, title: msg`${norm}: scales q and k of each head to a common size, before RoPE` };
  const ofChange = { ...normed, title: msg`${norm}: scales the change before it is added to the row` };
  const rope = {
    lines: ["RoPE", msg`at ${position}`],
    title: msg`RoPE: rotates pairs of numbers by an angle that grows with the position, here ${position}`,
    weights: false,
  };
  return {
    norm1: normed,
    norm2: parallel
      ? { ...normed, title: msg`${norm}: scales the layer’s input, the row before attention, which the MLP reads too` }
      : normed,
    wq: product("attn.q"),
    wk: product("attn.k"),
    wv: product("attn.v"),
    wo: product("attn.out"),
    wgate: product("mlp.gate"),
    wup: product("mlp.up"),
    wdown: product("mlp.down"),
    softmax: { lines: ["→"], title: msg`softmax over each row of scores`, weights: false },
    activation: {
      lines: [gated ? msg`${called}(gate) × up` : called],
      title: msg`${means}, for each number`,
      weights: false,
    },
    ...(rotary ? { ropeQ: rope, ropeK: rope } : {}),
    ...(experts ? expertChips(times, dims) : {}),
    ...(headNorms ? { normQ: ofHead, normK: ofHead } : {}),
    ...(postNorms ? { postNorm1: ofChange, postNorm2: ofChange } : {}),
  };
}

function expertChips(times, { d, mlp, experts: { count } }) {
  return {
    router: {
      ...times("W_router", [d, count]),
      title: msg`W_router: ${integer(d)} × ${integer(count)} learned weights; softmax makes one probability per expert`,
    },
    experts: { ...times("3", [d, mlp]), lines: [msg`each: 3 matrices of ${d}×${mlp}`] },
    shares: {
      lines: [msg`× share,`, "Σ"],
      title: msg`the outputs of the chosen experts, each times its share, are added up`,
      weights: false,
    },
  };
}

/** @returns {{strong: string, text: string, cached: string, computed: string, delta: string}} what this layer does for the row */
export function sentence(scene) {
  const { run, query, prefill, dims, positions, rows } = scene;
  const cachedBefore = cachedRead(scene);
  const keyCount = query + 1 - scene.first;
  const changes = deltas(scene);
  const [attention, mlp] = changes ? [changes.attention, changes.mlp].map(({ share }) => percent(share, 0)) : [];
  const delta = changes ? msg`Attention changes the row by ${attention} of its length, the MLP by ${mlp}.` : "";
  const token = quoted(run.tokens[query]);
  const computed = integer(rows);
  const text = prefill ? prefillText({ token, query, positions, keyCount }) : decodeText({ token, keyCount });
  return {
    strong: prefill ? prefillHeading(scene) : decodeHeading(keyCount, dims),
    text: [text, dims.window !== null && localText(dims.window), dims.parallel && parallelText()]
      .filter(Boolean)
      .join(" "),
    cached: cachedBefore ? reusedText(cachedBefore, prefill) : msg`No K and V are read from the cache yet`,
    computed: plural(
      rows,
      form`K and V of ${computed} token are computed and stored`,
      form`K and V of ${computed} tokens are computed and stored`,
    ),
    delta,
  };
}

function parallelText() {
  return msg`Attention and MLP read the same row, the one before this layer; both changes are added to it.`;
}

function localText(window) {
  return msg`This layer is local: its queries read only the newest ${integer(window)} keys, and its cache drops older ones.`;
}

function reusedText(tokens, prefill) {
  const reused = integer(tokens);
  return prefill
    ? plural(
        tokens,
        form`K and V of ${reused} token reused from an earlier run`,
        form`K and V of ${reused} tokens reused from an earlier run`,
      )
    : plural(tokens, form`K and V of ${reused} token reused`, form`K and V of ${reused} tokens reused`);
}

function decodeHeading(keyCount, { heads }) {
  const keys = integer(keyCount);
  return heads === 1
    ? plural(keyCount, form`One query and ${keys} key, in one head.`, form`One query and ${keys} keys, in one head.`)
    : plural(
        keyCount,
        form`One query and ${keys} key, in each of ${heads} heads.`,
        form`One query and ${keys} keys, in each of ${heads} heads.`,
      );
}

function decodeText({ token, keyCount }) {
  const [before, keys] = [integer(keyCount - 1), integer(keyCount)];
  const added = plural(
    keyCount - 1,
    form`${token} gets its own Q, K and V. Its K and V join those of ${before} earlier token in the cache.`,
    form`${token} gets its own Q, K and V. Its K and V join those of ${before} earlier tokens in the cache.`,
  );
  return `${added} ${msg`Its Q reads all ${keys} and is then discarded, because no later token uses it.`}`;
}

function prefillHeading({ run: { prefillPasses: passes }, rows, layer }) {
  const count = integer(rows);
  if (passes > 1) return msg`Prefill: ${count} rows, one per token, go through layer ${layer} in ${passes} passes.`;
  return plural(
    rows,
    form`Prefill: ${count} row, of the only token, goes through layer ${layer}.`,
    form`Prefill: ${count} rows, one per token, go through layer ${layer} at once.`,
  );
}

function prefillText({ token, query, positions, keyCount }) {
  const [number, all, before, after] = [query + 1, positions, keyCount - 1, positions - query - 1];
  const reads =
    before > 0
      ? plural(
          before,
          form`It can read itself and the ${integer(before)} row before it.`,
          form`It can read itself and the ${integer(before)} rows before it.`,
        )
      : msg`It can read only itself.`;
  const masked = plural(
    after,
    form`The ${integer(after)} row after it is masked.`,
    form`The ${integer(after)} rows after it are masked.`,
  );
  return [msg`This is the row of ${token}, number ${integer(number)} of ${integer(all)}.`, reads, after ? masked : ""]
    .join(" ")
    .trim();
}

/** @returns {string} the label of the button at a head's largest weight */
export function topKeyLabel(head, { key, weight: value }, run, exact) {
  const [token, weight] = [quoted(run.tokens[key]), fixed(value, 2)];
  return exact
    ? msg`Head ${head} looks most at ${token}, weight ${weight}: open the arithmetic`
    : msg`Head ${head} looks most at ${token}, weight ${weight} ± 0.004: open the arithmetic`;
}
