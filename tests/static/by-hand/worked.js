/** Worked examples as the server would answer them, computed here from the formulas, in float64. */

export const A = {
  ...{ words: ["the", "cat", "sat", "new"], prompt: [0, 1, 2], given: 3, temperature: 1 },
  parts: {
    embeddings: [
      [1, 0],
      [0, 1],
      [1, 1],
      [0.5, 0.5],
    ],
    w_q1: [
      [1, 0],
      [0, 1],
    ],
    w_k1: [
      [0, 1],
      [1, 0],
    ],
    w_v1: [
      [1, 1],
      [1, -1],
    ],
  },
};

const drawn = (rows, columns, seed) =>
  Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => Math.sin(seed + 3 * r + 7 * c)));

/** Of B's shape, with numbers of its own. */
export const B = {
  ...{ words: ["<PAD>", "I", "love", "AI", "<EOS>"], prompt: [1, 2], given: null, temperature: 0.8 },
  parts: {
    ...{ embeddings: drawn(5, 4, 1), positions: drawn(3, 4, 2), w_q1: drawn(4, 2, 3), w_k1: drawn(4, 2, 4) },
    ...{ w_v1: drawn(4, 2, 5), w_q2: drawn(4, 2, 6), w_k2: drawn(4, 2, 7), w_v2: drawn(4, 2, 8) },
    ...{ w_o: drawn(4, 4, 9), lm_head: drawn(5, 4, 10) },
  },
};

const times = (left, right) =>
  left.map((row) => right[0].map((_, c) => row.reduce((sum, value, at) => sum + value * right[at][c], 0)));
const turned = (rows) => rows[0].map((_, c) => rows.map((row) => row[c]));
const softmax = (row) => {
  const powers = row.map(Math.exp);
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
};

function step(example, ids, first) {
  const { parts } = example;
  const all = ids.map((id, at) => parts.embeddings[id].map((value, c) => value + (parts.positions?.[at][c] ?? 0)));
  const x = all.slice(first);
  const heads = parts.w_q2 ? [1, 2] : [1];
  const result = { x, q: [], k: [], v: [], scores: [], scaled: [], weights: [], mixed: [] };
  for (const head of heads) {
    const [q, k, v] = [times(x, parts[`w_q${head}`]), times(all, parts[`w_k${head}`]), times(all, parts[`w_v${head}`])];
    const scores = times(q, turned(k));
    const scaled = scores.map((row) => row.map((score) => score / Math.sqrt(q[0].length)));
    const weights = scaled.map((row, r) =>
      softmax(row.map((score, c) => (c > first + r ? Number.NEGATIVE_INFINITY : score))),
    );
    const ofHead = { q, k, v, scores, scaled, weights, mixed: times(weights, v) };
    for (const [name, value] of Object.entries(ofHead)) result[name].push(value);
  }
  const joined = x.map((_, row) => result.mixed.flatMap((head) => head[row]));
  const output = parts.w_o ? times(joined, parts.w_o) : null;
  const width = result.mixed[0][0].length;
  const rowsOf = (head) => parts.w_o.slice(head * width, (head + 1) * width);
  const by_head = parts.w_o ? result.mixed.map((rows, head) => times(rows, rowsOf(head))) : null;
  const logits = parts.lm_head ? times([output.at(-1)], turned(parts.lm_head))[0] : null;
  const probabilities = logits && softmax(logits.map((logit) => logit / example.temperature));
  return { ...result, by_head, output, rest: null, logits, probabilities, projections: 3 * x.length };
}

export function worked(example) {
  const prefill = step(example, example.prompt, 0);
  const token = example.given ?? prefill.probabilities.indexOf(Math.max(...prefill.probabilities));
  const ids = [...example.prompt, token];
  const decode = step(example, ids, example.prompt.length);
  return { example, token, prefill, decode, without_cache: step(example, ids, 0), difference: 0 };
}
