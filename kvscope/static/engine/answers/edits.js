/**
 * Makes the edits of a changed run (docs/frames.md, Changed runs), as kvscope/model/activations/change.py does: activation patching,
 * arXiv:2309.16042; steering by a difference of two prompts' last rows, arXiv:2308.10248.
 */

import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { keyOf } from "../runs/changed.js";
import { among, within } from "./bounds.js";
import { observe, plainText } from "./rows.js";

/** The point of each site; `based`: the site is what the layer adds, not the rows themselves. */
const PLACES = {
  token: { point: "embedded" },
  head: { point: "attn.mixed", heads: "heads" },
  attention: { point: "attn.change" },
  mlp: { point: "mlp.change" },
  layer: { point: "resid_out", based: true },
  residual: { point: "resid_out" },
  k: { point: "attn.k_rot", heads: "kv_heads" },
  v: { point: "attn.v", heads: "kv_heads" },
};
const MOST_CHANGES = 24;

/**
 * @typedef {Object} Edit `keep` · row + `add`, of rows at positions `first` to `last` − 1
 * @property {string} site
 * @property {number|null} layer
 * @property {number|null} head
 * @property {number} first
 * @property {number} last
 * @property {number} keep
 * @property {Float32Array|null} add one row, or with `each` one per position
 * @property {boolean} each
 */

/**
 * @param {import("./rows.js").Engine} engine
 * @param {import("../runs/changed.js").Changed} run
 * @returns {(rows: {first: number, count: number}) => Object[]} the edits of a pass with these rows, as `compute` takes them
 * @throws {Refused}
 */
export function editsOf(engine, run) {
  if (!run.changes.length) return () => [];
  const key = `edits ${keyOf(run)}`;
  const edits = engine.remembered.get(key) ?? remember(engine, key, prepare(engine, run));
  return (rows) => edits.flatMap((edit) => inPass(engine, edit, rows));
}

function remember({ remembered }, key, edits) {
  const bytes = edits.reduce((sum, { add }) => sum + (add?.byteLength ?? 0), 1000);
  return remembered.put(key, edits, bytes);
}

/** @returns {Object} an edit with which a part of a layer outputs zeros */
export const switchedOff = (site, layer, head = null) => ({
  ...{ site, layer, head, first: 0, last: Number.POSITIVE_INFINITY, keep: 0, add: null, each: false },
});

/**
 * @param {import("./rows.js").Engine} engine
 * @param {Edit} edit
 * @param {{first: number, count: number}} rows of the pass
 * @returns {Object[]} the edit as `compute` takes it; none if it changes none of these rows
 */
export function inPass({ info, model }, { site, layer, head, first, last, keep, add, each }, rows) {
  const [from, to] = [Math.max(first, rows.first), Math.min(last, rows.first + rows.count)];
  if (from >= to) return [];
  const { point, based = false } = PLACES[site];
  const { start, width } = columnsOf(info, site, head);
  return [
    {
      ...{ point: model.edits.indexOf(point), layer: layer ?? 0, start, width, keep },
      ...{ first: from - rows.first, end: to - rows.first, each: each ? 1 : 0, based: based ? 1 : 0 },
      rows: each ? add.subarray(from * width, to * width) : add,
    },
  ];
}

/** Returns the numbers of a row that a site has: the first, and how many. */
function columnsOf(info, site, head) {
  const { heads } = PLACES[site];
  if (!heads) return { start: 0, width: info.d };
  return head === null
    ? { start: 0, width: info[heads] * info.head_dim }
    : { start: head * info.head_dim, width: info.head_dim };
}

/** Returns the edits of all changes, in order. */
function prepare(engine, run) {
  within("changes", run.changes.length, 1, MOST_CHANGES);
  run.changes.forEach((change, index) => check(engine, `changes[${index}]`, change, run));
  return run.changes.map((change, index) => editOf(engine, run, change, index));
}

/** @throws {Refused} if the model or the run lacks a layer, head or position that a change names */
function check({ info, limits }, where, { site, op, layer, head, position, from_step: fromStep }, { prompt }) {
  if (!PLACES[site]) throw new Refused(409, msg`A change of an expert needs a server.`, { field: `${where}.site` });
  const longest = op === "patch" ? prompt : prompt + limits.new_tokens;
  const counts = { layer: info.layers, head: info[PLACES[site].heads ?? "heads"], position: longest };
  for (const [name, value] of Object.entries({ layer, head, position }))
    if (value !== null && value !== undefined) among(`${where}.${name}`, value, counts[name]);
  if (op !== "patch" || !fromStep) return;
  const detail = msg`Patch takes rows of a second prompt, and only step 0 computes rows of the prompt.`;
  throw new Refused(422, detail, { field: `${where}.from_step`, limit: 0 });
}

/** @returns {Edit} */
function editOf(engine, run, change, index) {
  const { site, op, layer = null, head = null, position = null, from_step: fromStep = 0, factor = 1 } = change;
  const start = fromStep ? run.prompt + fromStep - 1 : 0;
  const first = position === null ? start : Math.max(start, position);
  const last = position === null ? Number.POSITIVE_INFINITY : position + 1;
  const edit = { site, layer, head, first, last, keep: 0, add: null, each: false };
  const rowsOf = (ids) => rowsAt(engine, { site, layer, head }, ids);
  if (op === "scale") return { ...edit, keep: factor };
  if (op === "mean") return { ...edit, add: meanOf(rowsOf(run.ids.slice(0, run.prompt))) };
  if (op === "patch") {
    const ids = idsOf(engine, change.source, run.chat);
    if (ids.length !== run.prompt) throw unequal(index, ids.length, run.prompt);
    const { rows } = rowsOf(ids);
    return { ...edit, add: rows, each: true, last: Math.min(last, ids.length) };
  }
  if (op === "steer") {
    const [towards, away] = [change.source, change.away].map((text) => lastOf(rowsOf(idsOf(engine, text, run.chat))));
    return { ...edit, keep: 1, add: towards.map((number, i) => factor * Math.fround(number - away[i])) };
  }
  return edit;
}

function unequal(index, source, prompt) {
  const detail = msg`The second prompt has ${source} tokens and the run's prompt has ${prompt}; patch needs two of equal length, so that each row has its counterpart.`;
  return new Refused(422, detail, { field: `changes[${index}].source`, limit: prompt });
}

function idsOf({ tokenizer, limits }, text, chat) {
  const ids = chat ? tokenizer.encodeChat(text) : tokenizer.encode(text);
  within("changes.source", ids.length, 1, limits.prompt_tokens);
  return ids;
}

/** Returns the rows at a site for these tokens, computed without any change: {rows [ids.length, width], width}. */
function rowsAt(engine, { site, layer, head }, ids) {
  const { point, based } = PLACES[site];
  const last = layer ?? 0;
  /** @type {Float32Array} */
  let rows = new Float32Array(0);
  observe(engine, plainText(ids), {
    first: 0,
    end: last + 1,
    onLayer(each, value) {
      if (each !== last) return;
      rows = value(point === "embedded" ? "resid_in" : point);
      const before = based ? value("resid_in") : null;
      if (before) rows = rows.map((number, i) => number - before[i]);
    },
  });
  const { start, width } = columnsOf(engine.info, site, head);
  return { rows: columns(rows, ids.length, start, width), width };
}

/** Returns some columns of rows [count, …]. */
function columns(rows, count, start, width) {
  const stride = rows.length / count;
  const part = new Float32Array(count * width);
  for (let row = 0; row < count; row++)
    part.set(rows.subarray(row * stride + start, row * stride + start + width), row * width);
  return part;
}

function meanOf({ rows, width }) {
  const count = rows.length / width;
  return Float32Array.from({ length: width }, (_, i) => {
    let sum = 0;
    for (let row = 0; row < count; row++) sum += rows[row * width + i];
    return sum / count;
  });
}

const lastOf = ({ rows, width }) => rows.slice(-width);
