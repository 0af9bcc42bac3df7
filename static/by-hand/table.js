/**
 * A worked example as blocks of cells, each cell with what it is worked out of. Pure.
 *
 * A cell is named by its block, row and column, as in "weights1:2:0". Every value is the engine's but for what the page
 * lays out again (K turned on its side, V once more, the heads beside each other) and the logits divided by the temperature.
 *
 * @typedef {{op: "softmax", of: string, row: string[]}} Softmax
 * @typedef {{op: "given"}
 *   | {op: "copy", of: string}
 *   | {op: "sum", terms: string[]}
 *   | {op: "dot", terms: [string, string][]}
 *   | {op: "divide", of: string, by: number, sign: string}
 *   | {op: "mask", of: string, hidden: boolean}
 *   | Softmax} Working
 * @typedef {{name: string, title: string, note: string, rows: string[], columns: string[]|null, axis: "rows"|"columns"|null,
 *   tone: "input"|"plain"|"cached"|"weights"|"output", values: (number|null)[][], part: Part|null, shares?: true, say: (row: number, column: number) => string,
 *   of: (row: number, column: number) => Working}} Block `title`: after _ what is set low, after ^ high; `axis`: which of its sides is the tokens; null in a value: it is never there; `shares`: its numbers are shares of a row
 * @typedef {{name: string, at: (row: number, column: number) => [number, number]}} Part of the example, that a block shows
 * @typedef {{sign: string, over: Block|null, under: Block}} Column
 */

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
 *   `words`: of the prompt's tokens and the one after; `prompt`: how many of them are the prompt's
 */
export function tableOf(answer) {
  const { example } = answer;
  const ids = [...example.prompt, answer.token];
  const made = { answer, example, ids, words: ids.map((id) => example.words[id]), prompt: example.prompt.length };
  const heads = answer.prefill.q.map((_, head) => headOf(made, head));
  const lines = [...startOf(made, heads), ...heads.map((head) => head.line), ...endOf(made)];
  const all = lines.flatMap(({ columns }) => columns.flatMap(({ over, under }) => (over ? [over, under] : [under])));
  return {
    lines,
    words: made.words,
    prompt: made.prompt,
    blocks: Object.fromEntries(all.map((each) => [each.name, each])),
  };
}

/** X: the embeddings themselves, or with the positions added to them. */
function startOf({ answer, example, ids, words }, heads) {
  if (!example.parts.positions) return [];
  const embedding = {
    ...plain("embedding", "embeddings", "one row of the table a token"),
    ...{ rows: words, axis: "rows", tone: "input", of: given },
    values: ids.map((id) => example.parts.embeddings[id]),
    part: { name: "embeddings", at: (row, column) => [ids[row], column] },
    say: (row, column) => `Embedding of “${words[row]}”, number ${column + 1}`,
  };
  const position = {
    ...plain("position", "positions", "one row a place"),
    ...{ rows: words, axis: "rows", tone: "input", of: given },
    values: ids.map((_, row) => example.parts.positions[row]),
    part: { name: "positions", at: (row, column) => [row, column] },
    say: (row, column) => `Position ${row}, number ${column + 1}`,
  };
  const x = { ...heads[0].x, values: [...answer.prefill.x, ...answer.decode.x] };
  return [
    {
      title: "What goes in",
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
    ...plain("x", "X", added ? "embedding + position" : "embeddings"),
    ...{ rows: words, axis: "rows", tone: added ? "plain" : "input" },
    values: [...answer.prefill.x, ...answer.decode.x],
    part: added ? null : { name: "embeddings", at: (row, column) => [ids[row], column] },
    say: (row, column) => `X of “${words[row]}”, number ${column + 1}`,
    of: added
      ? (row, column) => ({ op: "sum", terms: [cellName("embedding", row, column), cellName("position", row, column)] })
      : given,
  };
}

function headOf(made, head) {
  const { answer, example, words, prompt } = made;
  const { prefill, decode } = answer;
  const several = prefill.q.length > 1;
  const number = head + 1;
  const named = (name) => `${name}${number}`;
  const x = xOf(made);
  const width = prefill.q[head][0].length;
  const projections = ["q", "k", "v"].map((letter) => {
    const weights = named(`w_${letter}`);
    const title = letter.toUpperCase();
    const kept = letter !== "q";
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
        say: (row, column) => `W_${title}${several ? ` of head ${number}` : ""}, row ${row + 1}, column ${column + 1}`,
      },
      under: {
        ...plain(named(letter), title, kept ? "kept: KV cache" : "used once"),
        ...{ rows: words, axis: "rows", tone: kept ? "cached" : "plain" },
        values: kept ? decode[letter][head] : [...prefill.q[head], ...decode.q[head]],
        say: (row, column) => `${title} of “${words[row]}”, number ${column + 1}`,
        of: (row, column) => dot("x", row, weights, column, x.values[row].length),
      },
    };
  });
  /** Rows of the prompt have no key after them; the next token's has. */
  const seen = (rows, last) => [...rows.map((row) => [...row, null]), ...last];
  const between = (name, title, note, values) => ({
    ...plain(named(name), title, note),
    ...{ rows: words, columns: words, axis: "rows", values },
  });
  const isHidden = (row, column) => row < prompt && column > row;
  const scaled = seen(prefill.scaled[head], decode.scaled[head]);
  const over = (name, title, note, of, say) => ({ ...plain(named(name), title, note), of, say });
  const columns = [
    { sign: "", over: null, under: x },
    ...projections,
    {
      sign: "Q K^T",
      over: {
        ...over(
          "kt",
          "K^T",
          "K, turned on its side",
          (row, column) => ({ op: "copy", of: cellName(named("k"), column, row) }),
          (row, column) => `K of “${words[column]}”, number ${row + 1}, turned on its side`,
        ),
        ...{ rows: numbered(width), columns: words, axis: "columns", tone: "cached" },
        values: numbered(width).map((_, row) => decode.k[head].map((key) => key[row])),
      },
      under: {
        ...between(
          "scores",
          "scores",
          "row: who asks · column: who is asked",
          seen(prefill.scores[head], decode.scores[head]),
        ),
        say: (row, column) => `Score of “${words[column]}” for “${words[row]}”`,
        of: (row, column) => dot(named("q"), row, named("kt"), column, width),
      },
    },
    {
      sign: `÷√${width}`,
      over: null,
      under: {
        ...between("scaled", "scaled", `÷ √${width}`, scaled),
        say: (row, column) => `Scaled score of “${words[column]}” for “${words[row]}”`,
        of: (row, column) => ({
          ...{ op: "divide", of: cellName(named("scores"), row, column) },
          ...{ by: Math.sqrt(width), sign: `√${width}` },
        }),
      },
    },
    {
      sign: "mask",
      over: null,
      under: {
        ...between(
          "masked",
          "masked",
          "no looking ahead",
          scaled.map((row, r) =>
            row.map((value, c) => (isHidden(r, c) && value !== null ? Number.NEGATIVE_INFINITY : value)),
          ),
        ),
        say: (row, column) =>
          isHidden(row, column)
            ? `“${words[row]}” may not look at “${words[column]}”, which comes after it`
            : `“${words[row]}” may look at “${words[column]}”`,
        of: (row, column) => ({
          op: "mask",
          of: cellName(named("scaled"), row, column),
          hidden: isHidden(row, column),
        }),
      },
    },
    {
      sign: "soft max",
      over: null,
      under: {
        ...between("weights", "weights", "each row sums to 1", seen(prefill.weights[head], decode.weights[head])),
        shares: true,
        say: (row, column) => `How much “${words[row]}” looks at “${words[column]}”`,
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
          "V again",
          "",
          (row, column) => ({ op: "copy", of: cellName(named("v"), row, column) }),
          (row, column) => `V of “${words[row]}”, number ${column + 1}`,
        ),
        ...{ rows: words, axis: "rows", tone: "cached", values: decode.v[head] },
      },
      under: {
        ...plain(named("mixed"), several ? `output of head ${number}` : "output", "the values, mixed by weight"),
        ...{ rows: words, axis: "rows", tone: "output", values: [...prefill.mixed[head], ...decode.mixed[head]] },
        say: (row, column) => `Output of “${words[row]}”, number ${column + 1}`,
        of: (row, column) => dot(named("weights"), row, named("again"), column, row + 1),
      },
    },
  ];
  return { x, line: { title: several ? `Head ${number}` : "", columns } };
}

/** The heads beside each other, W_O, the LM head and the next token; nothing where the example has none of it. */
function endOf({ answer, example, words, prompt }) {
  const { prefill, decode } = answer;
  if (!prefill.output) return [];
  const width = prefill.q[0][0].length;
  const beside = [...prefill.mixed[0].keys()].map((row) => prefill.mixed.flatMap((head) => head[row]));
  const last = decode.mixed.flatMap((head) => head[0]);
  const d = prefill.output[0].length;
  const joined = {
    ...plain("joined", "heads", "beside each other"),
    ...{ rows: words, axis: "rows", values: [...beside, last] },
    say: (row, column) =>
      `Output of head ${Math.floor(column / width) + 1} for “${words[row]}”, number ${(column % width) + 1}`,
    of: (row, column) => ({ op: "copy", of: cellName(`mixed${Math.floor(column / width) + 1}`, row, column % width) }),
  };
  const w_o = {
    ...plain("w_o", "W_O", ""),
    ...{ rows: numbered(example.parts.w_o.length), tone: "weights", values: example.parts.w_o, of: given },
    part: { name: "w_o", at: (row, column) => [row, column] },
    say: (row, column) => `W_O, row ${row + 1}, column ${column + 1}`,
  };
  const output = {
    ...plain("output", "attention output", "the heads, mixed"),
    ...{ rows: words, axis: "rows", tone: "output", values: [...prefill.output, ...decode.output] },
    say: (row, column) => `Attention output of “${words[row]}”, number ${column + 1}`,
    of: (row, column) => dot("joined", row, "w_o", column, last.length),
  };
  const vocabulary = example.words;
  const head = {
    ...plain("lm_head", "LM head", "a column a token"),
    ...{ rows: numbered(d), columns: vocabulary, tone: "weights", of: given },
    values: numbered(d).map((_, row) => example.parts.lm_head.map((word) => word[row])),
    part: { name: "lm_head", at: (row, column) => [column, row] },
    say: (row, column) => `LM head of “${vocabulary[column]}”, number ${row + 1}`,
  };
  /** Only the last row of a pass goes on to the vocabulary. */
  const ends = (first, second) =>
    words.map((_, row) => (row < prompt - 1 ? vocabulary.map(() => null) : row < prompt ? first : second));
  const overVocabulary = (name, title, note, first, second) => ({
    ...plain(name, title, note),
    ...{ rows: words, columns: vocabulary, axis: "rows", values: ends(first, second) },
  });
  const cooled = (logits) => logits.map((logit) => logit / example.temperature);
  return [
    {
      title: "Both heads together, and the next token",
      columns: [
        { sign: "", over: null, under: joined },
        { sign: "×", over: w_o, under: output },
        {
          sign: "×",
          over: head,
          under: {
            ...overVocabulary("logits", "logits", "of the last row only", prefill.logits, decode.logits),
            say: (row, column) => `Logit of “${vocabulary[column]}” after “${words[row]}”`,
            of: (row, column) => dot("output", row, "lm_head", column, d),
          },
        },
        {
          sign: "÷ T",
          over: null,
          under: {
            ...overVocabulary(
              "cooled",
              "÷ temperature",
              `÷ ${example.temperature}`,
              cooled(prefill.logits),
              cooled(decode.logits),
            ),
            say: (row, column) => `Logit of “${vocabulary[column]}” after “${words[row]}”, divided by the temperature`,
            of: (row, column) => ({
              op: "divide",
              of: cellName("logits", row, column),
              by: example.temperature,
              sign: "",
            }),
          },
        },
        {
          sign: "soft max",
          over: null,
          under: {
            ...overVocabulary(
              "chances",
              "probabilities",
              "each row sums to 1",
              prefill.probabilities,
              decode.probabilities,
            ),
            ...{ tone: "output", shares: true },
            say: (row, column) => `How likely “${vocabulary[column]}” is after “${words[row]}”`,
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

/** @returns {string[]} the cells that a cell is worked out of, each once */
export function operandsOf(working) {
  switch (working.op) {
    case "copy":
    case "divide":
    case "mask":
      return [working.of];
    case "sum":
      return working.terms;
    case "dot":
      return working.terms.flat();
    case "softmax":
      return working.row;
    default:
      return [];
  }
}

/** @returns {number|null} what stands in a cell; null where the table has none */
export function numberIn(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block]?.values[row]?.[column] ?? null;
}

/** @returns {Working} */
export function workingOf(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block].of(row, column);
}

/** @returns {string} what a cell is, in words */
export function sayCell(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block].say(row, column);
}

/** @returns {string[]} all cells that have a value, in the order of the page */
export function cellsOf(table) {
  return Object.values(table.blocks).flatMap(({ name, values }) =>
    values.flatMap((row, r) => row.flatMap((value, c) => (value === null ? [] : [cellName(name, r, c)]))),
  );
}

/** @returns {string[]} the cells that are worked out of this one directly */
export function usesOf(table, name) {
  return cellsOf(table).filter((each) => operandsOf(workingOf(table, each)).includes(name));
}

/**
 * What a cell is at a moment: of the prompt's pass, or of the step after it.
 *
 * @param {"prefill"|"decode"} moment
 * @returns {"absent"|"masked"|"input"|"kept"|"computed"|"past"} `past`: computed before, and not kept
 */
export function kindOf(table, name, moment) {
  const { block, row, column } = placeOf(name);
  const { axis, values, part, tone } = table.blocks[block];
  const token = axis === "columns" ? column : row;
  if (values[row][column] === null) return "absent";
  if (axis && token >= table.prompt && moment === "prefill") return "absent";
  if (values[row][column] === Number.NEGATIVE_INFINITY || isBehindMask(table, name)) return "masked";
  if (part) return "input";
  if (moment === "prefill" || token >= table.prompt) return "computed";
  return tone === "cached" ? "kept" : "past";
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
