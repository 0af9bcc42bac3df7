/**
 * The head that a run opens with: the one with the largest attention weight, in the rows of prefill, on an earlier token that is
 * neither the first, nor the query itself, nor its neighbour. Attention to those three is common and explains little.
 */

const NEAREST = 2;
const WORD = /[\p{L}\p{N}]/u;
/** At most this many weights of a head are searched, in the newest rows: all rows of a prompt of 32 tokens. */
const CELLS = 32 * 32;

/** @returns {boolean} whether a token is a word or part of one, not punctuation or of the chat template */
export function isWord(token) {
  return !token.special && WORD.test(token.text);
}

/**
 * @param {import("../../shared/log/run.js").Run} run with its prefill step
 * @param {(token: Object) => boolean} [isWorth] whether a token may be the query or the key
 * @returns {{layer: number, head: number, query: number, key: number}|null} that cell; null if the prompt is too short
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
