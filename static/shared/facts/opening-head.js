/**
 * Which head to open a run with: the one whose attention, in the rows of prefill, looks most firmly at an earlier token
 * that is neither the first, nor the query itself, nor its neighbour. Looks at those three are common and say little.
 */

const NEAREST = 2;
const WORD = /[\p{L}\p{N}]/u;
/** So many weights of a head are looked at, in the newest rows: all rows of a prompt of 32 tokens. */
const CELLS = 32 * 32;

/** @returns {boolean} whether a token is a word or a part of one, not a sign or the template's */
export function isWord(token) {
  return !token.special && WORD.test(token.text);
}

/**
 * @param {import("../log/run.js").Run} run with its prefill step
 * @param {(token: Object) => boolean} [isWorth] looking, and being looked at
 * @returns {{layer: number, head: number, query: number, key: number}|null} that look: null when the prompt is too short
 *   for one
 */
export function tellingLook(run, isWorth = (_token) => true) {
  let best = null;
  let most = 0;
  const last = run.promptLength - 1;
  const rows = Math.ceil(CELLS / run.promptLength);
  for (let layer = 0; layer < run.layers; layer++) {
    for (let head = 0; head < run.heads; head++) {
      for (let query = Math.max(0, last - rows + 1); query <= last; query++) {
        const row = run.row(layer, head, query);
        if (!row || !isWorth(run.tokens[query])) continue;
        for (let key = 1; key <= query - NEAREST; key++) {
          if (row[key] > most && isWorth(run.tokens[key])) {
            most = row[key];
            best = { layer, head, query, key };
          }
        }
      }
    }
  }
  return best;
}
