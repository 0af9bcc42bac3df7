/** Facts of rounds on several engines (docs/frames.md, Several engines of a round). Pure. */

import { endOf, eventsOf, firstTokenMs, rowsOf, sumOf } from "./measures.js";

/** What a round on engines of its own, or with a tier, needs: full blocks that are found by their content. */
export const ON_BLOCKS = {
  ...{ prefix: /** @type {const} */ ("blocks"), sharing: true },
  ...{ reserve: false, keep: null, contiguous: null, budget: null, draft: null },
};

/** @returns {{count: number, bytes: number, ms: number}} blocks that were copied: "moved", "stored" or "fetched" */
export function copied(round, wanted) {
  const those = eventsOf(round).filter(({ what }) => what === wanted);
  return {
    count: sumOf(those, ({ count }) => count),
    bytes: sumOf(those, ({ bytes }) => bytes),
    ms: sumOf(those, ({ took_ms }) => took_ms),
  };
}

/** @returns {Set<number>} requests that moved to another engine */
export function movedRequests(round) {
  const those = eventsOf(round).filter(({ what }) => what === "moved");
  return new Set(those.map(({ request }) => request));
}

/** @returns {number} bytes of a block: K and V of each of its tokens, in every layer and KV head, in float32 */
export function blockBytes({ layers, kv_heads: kvHeads, head_dim: headDim }, blockSize) {
  return 2 * layers * kvHeads * headDim * 4 * blockSize;
}

/** @returns {(number|null)[]} ms from the arrival of each request to its first token */
export const firstTokens = ({ answers }) => answers.map(firstTokenMs);

/**
 * @typedef {Object} Lane one engine in a round
 * @property {number} engine its number
 * @property {Object[]} passes
 * @property {number} rows computed
 * @property {number} busy share of the time until the round's last pass ended in which it computed
 */

/** @returns {{rows: number, bytes: number, ms: number}} rows that moved between the halves of the layers */
export function rowsMoved({ passes }) {
  const staged = passes.filter(({ stages }) => stages);
  return {
    rows: sumOf(staged, rowsOf),
    bytes: sumOf(staged, ({ stages }) => stages[1].bytes),
    ms: sumOf(staged, ({ stages }) => stages[1].took_ms),
  };
}

/**
 * @returns {Lane[]} one for each engine of the round, or for each half of the layers, whose passes have its times; none if the round has
 *   no engines of its own
 */
export function lanesOfEngines({ passes, settings }) {
  const until = passes.reduce((last, pass) => Math.max(last, endOf(pass)), 0);
  const { count, stages } = settings.engines ?? { count: 0, stages: 1 };
  return Array.from({ length: stages > 1 ? stages : count }, (_, engine) => {
    const own =
      stages > 1
        ? passes.map((pass) => ({ ...pass, ...pass.stages[engine] }))
        : passes.filter((pass) => pass.engine === engine);
    return {
      ...{ engine, passes: own, rows: sumOf(own, rowsOf) },
      busy: until ? sumOf(own, ({ ms }) => ms) / until : 0,
    };
  });
}
