/** SentencePiece's BPE: joins the neighbours whose piece has the highest score (kvscope/model/checkpoint/sentencepiece_bpe.py). */

/**
 * @param {Map<string, number>} scores of the pieces that neighbours may form
 * @returns {(text: string) => string[]} splits a text into pieces
 */
export function createJoining(scores) {
  return (text) => {
    const chars = Array.from(text);
    /** The end of the piece that begins there; 0 if none does. */
    const ends = chars.map((_, at) => at + 1);
    const before = chars.map((_, at) => at - 1);
    const pairs = createQueue();

    const consider = (left) => {
      const right = ends[left];
      if (left < 0 || right >= chars.length) return;
      const score = scores.get(chars.slice(left, ends[right]).join(""));
      if (score !== undefined) pairs.add({ score, left, end: ends[right] });
    };

    for (let left = 0; left < chars.length; left++) consider(left);
    for (let pair = pairs.take(); pair; pair = pairs.take()) {
      const { left, end } = pair;
      const right = ends[left];
      // Skip a pair of which one was joined to another piece meanwhile.
      if (!right || right >= chars.length || ends[right] !== end) continue;
      ends[left] = end;
      ends[right] = 0;
      if (end < chars.length) before[end] = left;
      consider(before[left]);
      consider(left);
    }
    return chars.flatMap((_, start) => (ends[start] ? [chars.slice(start, ends[start]).join("")] : []));
  };
}

/** Whether pair `a` is joined before pair `b`: the higher score, then the leftmost, then the shortest. */
const isBefore = (a, b) => b.score - a.score || a.left - b.left || a.end - b.end;

/** A heap of pairs: `take` removes the one to join first. */
function createQueue() {
  const heap = [];
  const swap = (a, b) => {
    [heap[a], heap[b]] = [heap[b], heap[a]];
  };
  return {
    add(pair) {
      let at = heap.push(pair) - 1;
      for (let up = (at - 1) >> 1; at > 0 && isBefore(heap[at], heap[up]) < 0; up = (at - 1) >> 1) {
        swap(at, up);
        at = up;
      }
    },
    take() {
      const [first] = heap;
      const last = heap.pop();
      if (heap.length) {
        heap[0] = last;
        for (let at = 0; ; ) {
          const [left, right] = [2 * at + 1, 2 * at + 2];
          const down = right < heap.length && isBefore(heap[right], heap[left]) < 0 ? right : left;
          if (down >= heap.length || isBefore(heap[at], heap[down]) <= 0) break;
          swap(at, down);
          at = down;
        }
      }
      return first;
    },
  };
}
