/**
 * Which head to open a run with: the one whose attention, in the rows of prefill, looks most firmly at an earlier token
 * that is neither the first, nor the query itself, nor its neighbour. Looks at those three are common and say little.
 */

const NEAREST = 2;
/** So many weights of a head are looked at, in the newest rows: all rows of a prompt of 32 tokens. */
const CELLS = 32 * 32;

/**
 * @param {import("../log/run.js").Run} run with its prefill step
 * @returns {{layer: number, head: number}|null} null when the prompt is too short for such a look
 */
export function tellingHead(run) {
  let best = null;
  let most = 0;
  const last = run.promptLength - 1;
  const rows = Math.ceil(CELLS / run.promptLength);
  for (let layer = 0; layer < run.layers; layer++) {
    for (let head = 0; head < run.heads; head++) {
      for (let query = Math.max(0, last - rows + 1); query <= last; query++) {
        const row = run.row(layer, head, query);
        if (!row) continue;
        for (let key = 1; key <= query - NEAREST; key++) {
          if (row[key] > most) {
            most = row[key];
            best = { layer, head };
          }
        }
      }
    }
  }
  return best;
}
