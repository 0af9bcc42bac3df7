/** A beam search, folded from the frames of its log in order (docs/frames.md, `beams`). */

import { Log } from "../../shared/log/log.js";

export class BeamSearch extends Log {
  /** @param {string} id */
  constructor(id) {
    super(id);
    /** `data` of the frame of each depth, in order. */
    this.depths = [];
    /** Every candidate by id, with its `depth`. */
    this.nodes = new Map();
    /** The node that ends the likeliest hypothesis so far. */
    this.best = null;
  }

  /** @returns {{of: string, step: number, beams: number, length: number}|null} the request */
  get study() {
    return this.open?.study ?? null;
  }

  fold({ kind, data }) {
    if (kind === "open") this.open = data;
    else if (kind === "beams") this.#deeper(data);
    else if (kind === "close") this.close = data;
    else throw new RangeError(`frame of kind ${kind} in a beam search`);
  }

  #deeper(data) {
    this.depths.push(data);
    for (const node of data.nodes) this.nodes.set(node.id, { ...node, depth: data.depth });
    this.best = data.best;
  }

  /** @returns {Object[]} the nodes from the context to the given one */
  path(id) {
    const nodes = [];
    for (let node = this.nodes.get(id); node; node = this.nodes.get(node.parent)) nodes.unshift(node);
    return nodes;
  }

  /** @returns {Object[]} the last nodes of the active and ended hypotheses, likeliest first */
  hypotheses() {
    const newest = this.depths.at(-1)?.depth;
    return [...this.nodes.values()]
      .filter(({ kept, ended, depth }) => kept && (ended || depth === newest))
      .sort((a, b) => b.total - a.total);
  }
}
