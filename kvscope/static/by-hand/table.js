/**
 * A worked example as blocks of cells, each cell with its calculation. Pure.
 *
 * A cell is named by its block, row and column, as in "weights1:2:0". The engine computed every value, except that the
 * page transposes K, repeats V, concatenates the heads and divides the logits by the temperature.
 *
 * @typedef {{op: "softmax", of: string, row: string[]}} Softmax
 * @typedef {{op: "given"}
 *   | {op: "copy", of: string}
 *   | {op: "sum", terms: string[]}
 *   | {op: "dot", terms: [string, string][]}
 *   | {op: "divide", of: string, by: number, sign: string}
 *   | {op: "mask", of: string, hidden: boolean}
 *   | Softmax} Calculation
 * @typedef {{name: string, title: string, note: string, rows: string[], columns: string[]|null, axis: "rows"|"columns"|null,
 *   tone: "input"|"plain"|"cached"|"weights"|"output", values: (number|null)[][], part: Part|null, shares?: true, label: (row: number, column: number) => string,
 *   of: (row: number, column: number) => Calculation}} Block `title`: _ precedes a subscript, ^ a superscript; `axis`: the side that lists the tokens; a null value: the cell does not exist; `shares`: each row adds up to 1
 * @typedef {{name: string, at: (row: number, column: number) => [number, number]}} Part the input of the example that a block shows
 * @typedef {{sign: string, over: Block|null, under: Block}} Column
 */

import { unhandled } from "../shared/facts/unhandled.js";
import { msg } from "../shared/words/msg.js";

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

export const cellName = (block, row, column) => `${block}:${row}:${column}`;

/** @returns {{block: string, row: number, column: number}} */
export function placeOf(name) {
  const [block, row, column] = name.split(":");
  return { block, row: Number(row), column: Number(column) };
}

/**
 * @param {Object} answer of /api/by-hand (docs/frames.md, By hand)
 * @returns {{blocks: Object<string, Block>, lines: {title: string, columns: Column[]}[], words: string[], prompt: number}}
 *   `words`: the tokens of the prompt and the next one; `prompt`: the number of tokens in the prompt
 */
export function tableOf(answer) {
  const { example } = answer;
  const ids = [...example.prompt, answer.token];
  const parts = { answer, example, ids, words: ids.map((id) => example.words[id]), prompt: example.prompt.length };
  const heads = answer.prefill.q.map((_, head) => headOf(parts, head));
  const lines = [...startOf(parts, heads), ...heads.map((head) => head.line), ...endOf(parts)];
  const all = lines.flatMap(({ columns }) => columns.flatMap(({ over, under }) => (over ? [over, under] : [under])));
  return {
    lines,
    words: parts.words,
    prompt: parts.prompt,
    blocks: Object.fromEntries(all.map((each) => [each.name, each])),
  };
}

/** The embeddings and positions, where an example has both. */
function startOf({ answer, example, ids, words }, heads) {
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
  const x = { ...heads[0].x, values: [...answer.prefill.x, ...answer.decode.x] };
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

function xOf({ answer, example, ids, words }) {
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

function headOf(parts, head) {
  const { answer, example, words, prompt } = parts;
  const { prefill, decode } = answer;
  const several = prefill.q.length > 1;
  const number = head + 1;
  const named = (name) => `${name}${number}`;
  const x = xOf(parts);
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
        of: (row, column) => dot("x", row, weights, column, x.values[row].length),
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
    { sign: "", over: null, under: x },
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
  return { x, line: { title: several ? msg`Head ${number}` : "", columns } };
}

function weightLabel(name, head, row, column) {
  return head === null
    ? msg`${name}, row ${row}, column ${column}`
    : msg`${name} of head ${head}, row ${row}, column ${column}`;
}

/** The concatenated heads, W_O, the LM head and the next token; empty for an example without them. */
function endOf({ answer, example, words, prompt }) {
  const { prefill, decode } = answer;
  if (!prefill.output) return [];
  const width = prefill.q[0][0].length;
  const beside = [...prefill.mixed[0].keys()].map((row) => prefill.mixed.flatMap((head) => head[row]));
  const last = decode.mixed.flatMap((head) => head[0]);
  const d = prefill.output[0].length;
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
      title: msg`Both heads combined, and the next token`,
      columns: [
        { sign: "", over: null, under: joined },
        { sign: "×", over: w_o, under: output },
        {
          sign: "×",
          over: head,
          under: {
            ...overVocabulary("logits", msg`logits`, msg`of the last row only`, prefill.logits, decode.logits),
            label: (row, column) => msg`Logit of “${vocabulary[column]}” after “${words[row]}”`,
            of: (row, column) => dot("output", row, "lm_head", column, d),
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
            label: (row, column) =>
              msg`Logit of “${vocabulary[column]}” after “${words[row]}”, divided by the temperature`,
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
      ],
    },
  ];
}

/**
 * @param {Calculation} calculation
 * @returns {string[]} the operands of a cell
 */
export function operandsOf(calculation) {
  switch (calculation.op) {
    case "copy":
    case "divide":
    case "mask":
      return [calculation.of];
    case "sum":
      return calculation.terms;
    case "dot":
      return calculation.terms.flat();
    case "softmax":
      return calculation.row;
    case "given":
      return [];
    default:
      return unhandled(calculation);
  }
}

/** @returns {number|null} the value of a cell; null if there is none */
export function numberIn(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block]?.values[row]?.[column] ?? null;
}

/** @returns {Calculation} */
export function calculationOf(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block].of(row, column);
}

/** @returns {string} */
export function cellLabel(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block].label(row, column);
}

/** @returns {string[]} all cells that have a value, in the order of the page */
export function cellsOf(table) {
  return Object.values(table.blocks).flatMap(({ name, values }) =>
    values.flatMap((row, r) => row.flatMap((value, c) => (value === null ? [] : [cellName(name, r, c)]))),
  );
}

/** @returns {string[]} the cells that have this one as an operand */
export function usesOf(table, name) {
  return cellsOf(table).filter((each) => operandsOf(calculationOf(table, each)).includes(name));
}

/**
 * The kind of a cell in prefill, or in the decode step after it.
 *
 * @param {"prefill"|"decode"} phase
 * @returns {"absent"|"masked"|"input"|"cached"|"computed"|"past"} `past`: computed by an earlier pass and not stored
 */
export function kindOf(table, name, phase) {
  const { block, row, column } = placeOf(name);
  const { axis, values, part, tone } = table.blocks[block];
  const token = axis === "columns" ? column : row;
  if (values[row][column] === null) return "absent";
  if (axis && token >= table.prompt && phase === "prefill") return "absent";
  if (values[row][column] === Number.NEGATIVE_INFINITY || isBehindMask(table, name)) return "masked";
  if (part) return "input";
  if (phase === "prefill" || token >= table.prompt) return "computed";
  return tone === "cached" ? "cached" : "past";
}

function isBehindMask(table, name) {
  const { block, row, column } = placeOf(name);
  return block.startsWith("weights") && row < table.prompt && column > row;
}

function plain(name, title, note) {
  return { name, title, note, rows: [], columns: null, axis: null, tone: "plain", values: [], part: null };
}

function given() {
  return { op: "given" };
}

function dot(left, row, right, column, count) {
  return {
    op: "dot",
    terms: numbered(count).map((_, at) => [cellName(left, row, at), cellName(right, at, column)]),
  };
}

function numbered(count) {
  return Array.from({ length: count }, (_, at) => subscript(at + 1));
}

function subscript(number) {
  return [...String(number)].map((digit) => SUBSCRIPTS[digit]).join("");
}
