/** The heads together and the next token of an example that has them, with the calculation of each number. Pure. */

import { msg } from "../shared/words/msg.js";
import { cellName, dot, given, numbered, plain, weightLabel } from "./blocks.js";
import { restOf } from "./rest-of-block.js";

/** The concatenated heads, W_O, the rest of a block, the LM head and the next token; empty for an example without them. */
export function endOf(parts, x) {
  if (!parts.answer.prefill.output) return [];
  const { joined, w_o, output } = outputOf(parts);
  const together = [
    { sign: "", over: null, under: joined },
    { sign: "×", over: w_o, under: output },
  ];
  const byHead = { title: msg`The same attention output, head by head`, columns: headColumns(parts) };
  if (!parts.answer.prefill.rest) {
    const next = nextToken(parts, output.name);
    return [{ title: msg`Both heads combined, and the next token`, columns: [...together, ...next] }, byHead];
  }
  const { lines, read } = restOf(parts, x, output);
  return [
    { title: msg`Both heads combined`, columns: together },
    byHead,
    ...lines,
    { title: msg`The next token`, columns: [{ sign: "", over: null, under: read }, ...nextToken(parts, read.name)] },
  ];
}

function outputOf({ answer: { prefill, decode }, example, words }) {
  const width = prefill.q[0][0].length;
  const beside = [...prefill.mixed[0].keys()].map((row) => prefill.mixed.flatMap((head) => head[row]));
  const last = decode.mixed.flatMap((head) => head[0]);
  const joined = {
    ...plain("joined", msg`heads`, msg`concatenated`),
    ...{ rows: words, axis: "rows", values: [...beside, last] },
    label: (row, column) => {
      const [number, at] = [Math.floor(column / width) + 1, (column % width) + 1];
      return msg`Output of head ${number} for “${words[row]}”, number ${at}`;
    },
    of: (row, column) => ({ op: "copy", of: cellName(`mixed${Math.floor(column / width) + 1}`, row, column % width) }),
  };
  const w_o = {
    ...plain("w_o", "W_O", ""),
    ...{ rows: numbered(example.parts.w_o.length), tone: "weights", values: example.parts.w_o, of: given },
    part: { name: "w_o", at: (row, column) => [row, column] },
    label: (row, column) => weightLabel("W_O", null, row + 1, column + 1),
  };
  const output = {
    ...plain("output", msg`attention output`, msg`all heads combined`),
    ...{ rows: words, axis: "rows", tone: "output", values: [...prefill.output, ...decode.output] },
    label: (row, column) => msg`Attention output of “${words[row]}”, number ${column + 1}`,
    of: (row, column) => dot("joined", row, "w_o", column, last.length),
  };
  return { joined, w_o, output };
}

/** Each head's output × its rows of W_O, which add up to the attention output. */
function headColumns({ answer: { prefill, decode }, words }) {
  const width = prefill.q[0][0].length;
  const shares = prefill.by_head.map((rows, head) => ({
    ...plain(
      `share${head + 1}`,
      msg`part of head ${head + 1}`,
      msg`its output × its ${width} rows of the output matrix`,
    ),
    ...{ rows: words, axis: "rows", values: [...rows, ...decode.by_head[head]] },
    label: (row, column) =>
      msg`Part of head ${head + 1} in the attention output of “${words[row]}”, number ${column + 1}`,
    of: (row, column) => ({
      op: "dot",
      terms: numbered(width).map((_, at) => [
        cellName(`mixed${head + 1}`, row, at),
        cellName("w_o", head * width + at, column),
      ]),
    }),
  }));
  const sum = {
    ...plain("summed", msg`attention output`, msg`the sum over the heads`),
    ...{ rows: words, axis: "rows", tone: "output", values: [...prefill.output, ...decode.output] },
    label: (row, column) => msg`Attention output of “${words[row]}” as a sum of heads, number ${column + 1}`,
    of: (row, column) => ({ op: "sum", terms: shares.map(({ name }) => cellName(name, row, column)) }),
  };
  return [
    ...shares.map((under, head) => ({ sign: head ? "+" : "", over: null, under })),
    { sign: "=", over: null, under: sum },
  ];
}

/** The logits and probabilities of the last row of each pass. `read`: the block that the LM head multiplies. */
function nextToken({ answer: { prefill, decode }, example, words, prompt }, read) {
  const d = prefill.output[0].length;
  const vocabulary = example.words;
  const head = {
    ...plain("lm_head", msg`LM head`, msg`one column per token`),
    ...{ rows: numbered(d), columns: vocabulary, tone: "weights", of: given },
    values: numbered(d).map((_, row) => example.parts.lm_head.map((word) => word[row])),
    part: { name: "lm_head", at: (row, column) => [column, row] },
    label: (row, column) => msg`LM head of “${vocabulary[column]}”, number ${row + 1}`,
  };
  /** Only the last row of a pass gets logits. */
  const ends = (first, second) =>
    words.map((_, row) => (row < prompt - 1 ? vocabulary.map(() => null) : row < prompt ? first : second));
  const overVocabulary = (name, title, note, first, second) => ({
    ...plain(name, title, note),
    ...{ rows: words, columns: vocabulary, axis: "rows", values: ends(first, second) },
  });
  const cooled = (logits) => logits.map((logit) => logit / example.temperature);
  return [
    {
      sign: "×",
      over: head,
      under: {
        ...overVocabulary("logits", msg`logits`, msg`of the last row only`, prefill.logits, decode.logits),
        label: (row, column) => msg`Logit of “${vocabulary[column]}” after “${words[row]}”`,
        of: (row, column) => dot(read, row, "lm_head", column, d),
      },
    },
    {
      sign: "÷ T",
      over: null,
      under: {
        ...overVocabulary(
          "cooled",
          msg`÷ temperature`,
          `÷ ${example.temperature}`,
          cooled(prefill.logits),
          cooled(decode.logits),
        ),
        label: (row, column) => msg`Logit of “${vocabulary[column]}” after “${words[row]}”, divided by the temperature`,
        of: (row, column) => ({
          op: "divide",
          of: cellName("logits", row, column),
          by: example.temperature,
          sign: "",
        }),
      },
    },
    {
      sign: msg`soft\u200bmax`,
      over: null,
      under: {
        ...overVocabulary(
          "chances",
          msg`probabilities`,
          msg`each row adds up to 1`,
          prefill.probabilities,
          decode.probabilities,
        ),
        ...{ tone: "output", shares: true },
        label: (row, column) => msg`Probability of “${vocabulary[column]}” after “${words[row]}”`,
        of: (row, column) => ({
          ...{ op: "softmax", of: cellName("cooled", row, column) },
          row: vocabulary.map((_, word) => cellName("cooled", row, word)),
        }),
      },
    },
  ];
}
