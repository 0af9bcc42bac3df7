/** A beam search, folded from the frames of its log in order (docs/frames.md, `beams`). */

export class BeamSearch {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.open = null;
    this.close = null;
    this.nextSeq = 0;
    /** One per depth, first depth in front: `data` of its frame. */
    this.depths = [];
    /** Every candidate by id, with the `depth` it stands at. */
    this.nodes = new Map();
    /** The node that ends the likeliest hypothesis so far. */
    this.best = null;
  }

  /** @returns {{of: string, step: number, beams: number, length: number}|null} what was asked for */
  get study() {
    return this.open?.study ?? null;
  }

  /**
   * Take the next frame.
   *
   * @param {{kind: string, seq: number, run: string, data: Object}} frame
   * @throws {RangeError} when the frame is not the next one of this search
   */
  push({ kind, seq, run, data }) {
    if (run !== this.id) throw new RangeError(`frame of run ${run}, not ${this.id}`);
    if (seq !== this.nextSeq) throw new RangeError(`frame ${seq}, expected ${this.nextSeq}`);
    if (kind === "open") this.open = data;
    else if (kind === "beams") this.#deeper(data);
    else if (kind === "close") this.close = data;
    else throw new RangeError(`frame of kind ${kind} in a beam search`);
    this.nextSeq = seq + 1;
  }

  #deeper(data) {
    this.depths.push(data);
    for (const node of data.nodes) this.nodes.set(node.id, { ...node, depth: data.depth });
    this.best = data.best;
  }

  /** @returns {Object[]} the nodes from the context to this one */
  path(id) {
    const nodes = [];
    for (let node = this.nodes.get(id); node; node = this.nodes.get(node.parent)) nodes.unshift(node);
    return nodes;
  }

  /** @returns {Object[]} the last nodes of the hypotheses that are followed or have ended, likeliest first */
  hypotheses() {
    const newest = this.depths.at(-1)?.depth;
    return [...this.nodes.values()]
      .filter(({ kept, ended, depth }) => kept && (ended || depth === newest))
      .sort((a, b) => b.total - a.total);
  }
}
