/** The input of an example and the attention of its heads, with the calculation of each number. Pure. */

import { msg } from "../shared/words/msg.js";
import { cellName, dot, given, numbered, plain, weightLabel } from "./blocks.js";

/** The embeddings and positions, where an example has both. */
export function startOf({ example, ids, words }, x) {
  if (!example.parts.positions) return [];
  const embedding = {
    ...plain("embedding", msg`embeddings`, msg`one table row per token`),
    ...{ rows: words, axis: "rows", tone: "input", of: given },
    values: ids.map((id) => example.parts.embeddings[id]),
    part: { name: "embeddings", at: (row, column) => [ids[row], column] },
    label: (row, column) => msg`Embedding of “${words[row]}”, number ${column + 1}`,
  };
  const position = {
    ...plain("position", msg`positions`, msg`one row per position`),
    ...{ rows: words, axis: "rows", tone: "input", of: given },
    values: ids.map((_, row) => example.parts.positions[row]),
    part: { name: "positions", at: (row, column) => [row, column] },
    label: (row, column) => msg`Position ${row}, number ${column + 1}`,
  };
  return [
    {
      title: msg`Input`,
      columns: [
        { sign: "", over: null, under: embedding },
        { sign: "+", over: null, under: position },
        { sign: "=", over: null, under: x },
      ],
    },
  ];
}

/** The rows that enter the block. */
export function xOf({ answer, example, ids, words }) {
  const added = Boolean(example.parts.positions);
  return {
    ...plain("x", "X", added ? msg`embedding + position` : msg`embeddings`),
    ...{ rows: words, axis: "rows", tone: added ? "plain" : "input" },
    values: [...answer.prefill.x, ...answer.decode.x],
    part: added ? null : { name: "embeddings", at: (row, column) => [ids[row], column] },
    label: (row, column) => msg`X of “${words[row]}”, number ${column + 1}`,
    of: added
      ? (row, column) => ({ op: "sum", terms: [cellName("embedding", row, column), cellName("position", row, column)] })
      : given,
  };
}

/** The attention of one head. `read`: the block whose rows it reads. */
export function headOf(parts, head, read) {
  const { answer, example, words, prompt } = parts;
  const { prefill, decode } = answer;
  const several = prefill.q.length > 1;
  const number = head + 1;
  const named = (name) => `${name}${number}`;
  const width = prefill.q[head][0].length;
  const projections = ["q", "k", "v"].map((letter) => {
    const weights = named(`w_${letter}`);
    const title = letter.toUpperCase();
    const cached = letter !== "q";
    return {
      sign: letter === "q" ? "×" : "",
      over: {
        ...plain(weights, `W_${title}`, ""),
        ...{
          rows: numbered(example.parts[weights].length),
          tone: "weights",
          of: given,
          values: example.parts[weights],
        },
        part: { name: weights, at: (row, column) => [row, column] },
        label: (row, column) => weightLabel(`W_${title}`, several ? number : null, row + 1, column + 1),
      },
      under: {
        ...plain(named(letter), title, cached ? msg`stored in the KV cache` : msg`used once`),
        ...{ rows: words, axis: "rows", tone: cached ? "cached" : "plain" },
        values: cached ? decode[letter][head] : [...prefill.q[head], ...decode.q[head]],
        label: (row, column) => msg`${title} of “${words[row]}”, number ${column + 1}`,
        of: (row, column) => dot(read.name, row, weights, column, read.values[row].length),
      },
    };
  });
  /** Prefill has no key for the next token: null fills its column. */
  const seen = (rows, last) => [...rows.map((row) => [...row, null]), ...last];
  const between = (name, title, note, values) => ({
    ...plain(named(name), title, note),
    ...{ rows: words, columns: words, axis: "rows", values },
  });
  const isHidden = (row, column) => row < prompt && column > row;
  const scaled = seen(prefill.scaled[head], decode.scaled[head]);
  const over = (name, title, note, of, label) => ({ ...plain(named(name), title, note), of, label });
  const columns = [
    { sign: "", over: null, under: read },
    ...projections,
    {
      sign: "Q K^T",
      over: {
        ...over(
          "kt",
          "K^T",
          msg`K, transposed`,
          (row, column) => ({ op: "copy", of: cellName(named("k"), column, row) }),
          (row, column) => msg`Transposed K of “${words[column]}”, number ${row + 1}`,
        ),
        ...{ rows: numbered(width), columns: words, axis: "columns", tone: "cached" },
        values: numbered(width).map((_, row) => decode.k[head].map((key) => key[row])),
      },
      under: {
        ...between(
          "scores",
          msg`scores`,
          msg`row: query · column: key`,
          seen(prefill.scores[head], decode.scores[head]),
        ),
        label: (row, column) => msg`Score from “${words[row]}” to “${words[column]}”`,
        of: (row, column) => dot(named("q"), row, named("kt"), column, width),
      },
    },
    {
      sign: `÷√${width}`,
      over: null,
      under: {
        ...between("scaled", msg`scaled`, `÷ √${width}`, scaled),
        label: (row, column) => msg`Scaled score from “${words[row]}” to “${words[column]}”`,
        of: (row, column) => ({
          ...{ op: "divide", of: cellName(named("scores"), row, column) },
          ...{ by: Math.sqrt(width), sign: `√${width}` },
        }),
      },
    },
    {
      sign: msg`mask`,
      over: null,
      under: {
        ...between(
          "masked",
          msg`masked`,
          msg`no later tokens`,
          scaled.map((row, r) =>
            row.map((value, c) => (isHidden(r, c) && value !== null ? Number.NEGATIVE_INFINITY : value)),
          ),
        ),
        label: (row, column) =>
          isHidden(row, column)
            ? msg`The mask hides “${words[column]}” from “${words[row]}”, because it comes later`
            : msg`The mask lets “${words[row]}” attend to “${words[column]}”`,
        of: (row, column) => ({
          op: "mask",
          of: cellName(named("scaled"), row, column),
          hidden: isHidden(row, column),
        }),
      },
    },
    {
      sign: msg`soft\u200bmax`,
      over: null,
      under: {
        ...between(
          "weights",
          msg`weights`,
          msg`each row adds up to 1`,
          seen(prefill.weights[head], decode.weights[head]),
        ),
        shares: true,
        label: (row, column) => msg`Attention weight from “${words[row]}” to “${words[column]}”`,
        of: (row, column) => ({
          ...{ op: "softmax", of: cellName(named("masked"), row, column) },
          row: words.flatMap((_, key) =>
            key > row || (row < prompt && key >= prompt) ? [] : [cellName(named("masked"), row, key)],
          ),
        }),
      },
    },
    {
      sign: "× V",
      over: {
        ...over(
          "again",
          msg`V again`,
          "",
          (row, column) => ({ op: "copy", of: cellName(named("v"), row, column) }),
          (row, column) => msg`V of “${words[row]}”, number ${column + 1}`,
        ),
        ...{ rows: words, axis: "rows", tone: "cached", values: decode.v[head] },
      },
      under: {
        ...plain(named("mixed"), several ? msg`output of head ${number}` : msg`output`, msg`weighted sum of V`),
        ...{ rows: words, axis: "rows", tone: "output", values: [...prefill.mixed[head], ...decode.mixed[head]] },
        label: (row, column) => msg`Output of “${words[row]}”, number ${column + 1}`,
        of: (row, column) => dot(named("weights"), row, named("again"), column, row + 1),
      },
    },
  ];
  return { title: several ? msg`Head ${number}` : "", columns };
}
