/**
 * A run, built from its frames in order.
 *
 * Rows of attention stay in their frames; an index finds them. No part of a step is readable before its `step` frame has arrived, so an
 * interrupted run never shows an incomplete step.
 */

import { weightOf } from "./companding.js";
import { Log } from "./log.js";

/** The probabilities of the raw logits, with no filter. */
const UNKNOWN_SAMPLING = { strategy: "sample", temperature: 1, top_k: 0, top_p: 1, seed: 0 };

export class Run extends Log {
  /**
   * @param {string} id
   * @param {Object|null} saved the saved session of the frames: {id, title, notes, open}; null: a run of the server
   */
  constructor(id, saved = null) {
    super(id);
    this.saved = saved;
    this.tokens = [];
    this.promptLength = 0;
    this.steps = [];
    this.positions = 0;
    this.partialRows = 0;
    this.#parts = [];
    this.#pending = [];
  }

  /** #parts[position][layer * heads + head]: the frame part that holds that query row. */
  #parts;
  /** Layer frames of the incomplete step. */
  #pending;

  /** The number of the prompt's first rows that were read from the cache of an earlier run. */
  get reused() {
    return this.open?.reused ?? 0;
  }

  /** The number of prefill passes; 1 until it is known. */
  get prefillPasses() {
    return this.steps[0]?.data.ms?.chunks.length ?? 1;
  }

  /** The number of the prompt's rows that this run computes itself. */
  get prefillRows() {
    return this.promptLength - this.reused;
  }

  /** Whether the engine may still add frames. */
  get grows() {
    return this.open !== null && this.close === null && this.saved === null;
  }

  /** Whether the run is open and has no step yet: it is queued, or in prefill. */
  get awaited() {
    return this.open !== null && this.close === null && this.steps.length === 0;
  }

  /** Whether the page can show the run: its layout before the first step, or its steps. */
  get shows() {
    return this.awaited || this.steps.length > 0;
  }

  get layers() {
    return this.open?.model.layers ?? 0;
  }

  get heads() {
    return this.open?.model.heads ?? 0;
  }

  /** The number of KV heads; 1 in a log that does not say it, which has nothing about them either. */
  get kvHeads() {
    return this.open?.model.kv_heads ?? (this.open ? 1 : 0);
  }

  /** How the tokens were chosen; in a log that does not say it, nothing between the logits and the choice is known. */
  get sampling() {
    return this.open?.sampling ?? UNKNOWN_SAMPLING;
  }

  fold(frame) {
    if (frame.kind === "open") this.#pushOpen(frame.data);
    else if (frame.kind === "layer") this.#pushLayer(frame);
    else if (frame.kind === "step") this.#pushStep(frame);
    else if (frame.kind === "close") this.#pushClose(frame.data);
    else throw new RangeError(`frame of unknown kind ${frame.kind}`);
  }

  #pushOpen(data) {
    this.open = data;
    this.tokens = [...data.tokens];
    this.promptLength = data.tokens.length;
  }

  #pushLayer({ data, tensors }) {
    const [layers, heads, queries, keys] = tensors.attention.shape;
    const part = {
      firstLayer: data.first_layer,
      firstHead: data.first_head,
      firstQuery: data.first_query,
      layers,
      heads,
      queries,
      keys,
      attention: tensors.attention.data,
      qNorm: tensors.q_norm?.data ?? null,
      kNorm: tensors.k_norm?.data ?? null,
      vNorm: tensors.v_norm?.data ?? null,
      residualNorm: tensors.residual_norm?.data ?? null,
      experts: tensors.experts ?? null,
      expertShares: tensors.expert_shares?.data ?? null,
    };
    this.#pending.push(part);
    this.partialRows = Math.max(this.partialRows, part.firstQuery + queries - this.#nextRow);
  }

  #pushStep({ data, tensors }) {
    for (const part of this.#pending) this.#index(part);
    this.#pending = [];
    this.partialRows = 0;
    const firstQuery = this.#nextRow;
    const rows = data.position + 1 - firstQuery;
    this.steps.push({
      data,
      topIds: tensors.top_ids.data,
      topLogits: tensors.top_logits.data,
      tailCounts: tensors.tail_counts.data,
      kept: tensors.kept ?? null,
      firstQuery,
      rows,
    });
    this.positions = firstQuery + rows;
    this.tokens.push(data.token);
  }

  /** Returns the position of the first row that the next step computes. */
  get #nextRow() {
    return this.steps.length ? this.positions : this.reused;
  }

  #pushClose(data) {
    this.close = data;
    this.#pending = [];
    this.partialRows = 0;
  }

  #index(part) {
    const { heads } = this;
    for (let query = part.firstQuery; query < part.firstQuery + part.queries; query++) {
      this.#parts[query] ??= new Array(this.layers * heads);
      for (let layer = part.firstLayer; layer < part.firstLayer + part.layers; layer++) {
        const at = layer * heads + part.firstHead;
        this.#parts[query].fill(part, at, at + part.heads);
      }
    }
  }

  #part(layer, head, query) {
    if (layer < 0 || layer >= this.layers || head < 0 || head >= this.heads) return null;
    return this.#parts[query]?.[layer * this.heads + head] ?? null;
  }

  /**
   * Returns the companded weights of one query row: u = round(255·√w) for keys 0…query.
   *
   * @returns {Uint8Array|null} a view of query + 1 bytes, null when no complete step computed that row
   */
  row(layer, head, query) {
    const part = this.#part(layer, head, query);
    if (!part) return null;
    const line =
      ((layer - part.firstLayer) * part.heads + head - part.firstHead) * part.queries + query - part.firstQuery;
    return part.attention.subarray(line * part.keys, line * part.keys + query + 1);
  }

  /** @returns {number|null} attention weight 0…1 (within 0.004), null when masked, outside the window or absent */
  weight(layer, head, query, key) {
    const row = this.row(layer, head, query);
    if (!row || key < this.firstKey(layer, query) || key > query) return null;
    return weightOf(row[key]);
  }

  /** @returns {number|null} length of the Q row of one query head at a position */
  qNorm(layer, head, position) {
    return this.#headNorm("qNorm", this.heads, layer, head, position);
  }

  /** @returns {number|null} length of the K row of one K/V head at a position */
  kNorm(layer, kvHead, position) {
    return this.#headNorm("kNorm", this.kvHeads, layer, kvHead, position);
  }

  /** @returns {number|null} length of the V row of one K/V head at a position */
  vNorm(layer, kvHead, position) {
    return this.#headNorm("vNorm", this.kvHeads, layer, kvHead, position);
  }

  /** @returns {number|null} length of the residual row after the layer */
  residualNorm(layer, position) {
    const part = this.#part(layer, 0, position);
    if (!part?.residualNorm) return null;
    return part.residualNorm[(layer - part.firstLayer) * part.queries + position - part.firstQuery];
  }

  /** @returns {{expert: number, share: number}[]} the experts that a layer's router chose for a row; none without experts */
  experts(layer, position) {
    const part = this.#part(layer, 0, position);
    if (!part?.experts) return [];
    const count = part.experts.shape[2];
    const at = ((layer - part.firstLayer) * part.queries + position - part.firstQuery) * count;
    return Array.from(part.experts.data.subarray(at, at + count), (expert, rank) => ({
      expert,
      share: part.expertShares[at + rank],
    })).filter(({ expert }) => expert >= 0);
  }

  /** @returns {number|null} how many keys a query of a layer reads at most, its own included; null: all */
  window(layer) {
    return this.open?.model.windows?.[layer] ?? null;
  }

  /** @returns {number} the first key that a query of a layer reads: later ones are in its sliding window */
  firstKey(layer, query) {
    const window = this.window(layer);
    return window === null ? 0 : Math.max(0, query + 1 - window);
  }

  /** @returns {number} the first position whose K and V a layer still holds after a complete step: whole blocks */
  firstHeld(layer, step) {
    const { positions, windowed } = this.steps[step].data.kv ?? {};
    return windowed && this.window(layer) !== null ? positions - windowed.positions : 0;
  }

  #headNorm(name, heads, layer, head, position) {
    const part = this.#part(layer, 0, position);
    if (!part?.[name] || head < 0 || head >= heads) return null;
    const line = (layer - part.firstLayer) * heads + head;
    return part[name][line * part.queries + position - part.firstQuery];
  }

  /** @returns {number} the step that computed the row at a position, or read it: 0 for every prompt position */
  stepOfQuery(query) {
    return Math.max(0, query - this.promptLength + 1);
  }

  /** @returns {number} the row of a position in its step's exact values, which in prefill cover the whole prompt */
  rowInStep(query) {
    return query < this.promptLength ? query : 0;
  }

  /** @returns {number} the newest row of a step */
  lastQueryOfStep(step) {
    return this.promptLength + step - 1;
  }
}
