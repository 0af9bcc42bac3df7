/** One forward pass: writes `struct pass` of kernels.c, computes it, and reads what it wrote. */

/** Values that frames show, by the field of `struct sequence`, with the number of their rows in a layer. */
const LENGTHS = { q: "heads", k: "kv_heads", v: "kv_heads", residual: null };
/** Values whose columns the hook points count in heads. */
const OF_HEADS = ["qkv", "qk", "rotated"];

/**
 * @typedef {Object} NewRows
 * @property {number[]} ids the tokens of the new rows
 * @property {number[]} slots the slots of the cache of all its rows, those of the new ones at the end
 * @property {boolean} [capture] also computes what frames show
 * @property {Object[]} [edits] `struct edit` by field, each with `rows`, the numbers to add, in place of an address
 * @property {number[]} [outs] the rows, counted from the first new one, whose logits are computed; by default the last
 * @property {number} [position] of the first new row; by default the new rows are the last of `slots`
 * @property {number} [start] the first layer that is computed
 * @property {number} [end] the one after the last; logits are computed only if it is the number of layers
 * @property {Float32Array|null} [entering] the rows [rows, d] that enter layer `start`, unless it is 0
 * @property {((layer: number, value: ValueAt) => void)|null} [onLayer] called after each layer
 */

/**
 * Computes new rows of one sequence, and the logits of some of them.
 *
 * @param {import("./model.js").Model} model
 * @param {NewRows} of
 * @param {(results: Results) => Result} read reads the results; `logits` and `final` are views of memory that is given back after it
 * @returns {Result}
 * @template Result
 */
export function compute(model, of, read) {
  const layers = model.shape.layers.length;
  const { outs = [of.ids.length - 1], start = 0, end = layers, onLayer = null } = of;
  const mark = model.memory.mark();
  try {
    const pass = writePass(model, { ...of, outs });
    const set = (field, value) => model.structures.set("pass", field, pass.address, value);
    let first = start;
    do {
      const next = onLayer ? Math.min(first + 1, end) : end;
      set("first", first);
      set("end", next);
      set("input", pass.entering(first));
      set("with_head", next === layers && outs.length > 0 ? 1 : 0);
      model.step(pass.address);
      if (first < next) onLayer?.(first, (point) => copyAt(model, pass, first, point));
      first = next;
    } while (first < end);
    return read(pass.results());
  } finally {
    model.memory.release(mark);
  }
}

/**
 * @typedef {(point: string) => Float32Array} ValueAt returns a copy of the value at a hook point of a layer, such as "attn.q": [rows, columns],
 *   or scores and weights [heads, rows, keys]
 *
 * @typedef {Object} Results
 * @property {Float32Array} logits [outs, vocab]
 * @property {Float32Array} final the normed rows that the head reads, [outs, d]
 * @property {Object<string, Uint8Array|Uint16Array>|null} captured what frames show: attention [layers, heads, rows, keys] and, as float16,
 *   lengths [layers, heads or none, rows]
 * @property {Experts|null} experts of each row; null in a model without
 * @property {(out: number) => ReturnType<typeof readSummary>} summary
 *
 * @typedef {{chosen: Int32Array, shares: Float32Array, each: number}} Experts [layers, rows, each], largest share first
 */

/**
 * Writes `struct pass`, with room for all its values.
 *
 * @param {import("./model.js").Model} model
 * @param {NewRows} of
 */
function writePass(model, { ids, slots, capture, edits = [], outs, position, start = 0, entering, onLayer }) {
  const { memory, structures, shape } = model;
  const [rows, keys] = [ids.length, slots.length];
  const longs = (numbers) => {
    const address = memory.allocate(8 * numbers.length);
    memory.longs(address, numbers.length).set(numbers.map(BigInt));
    return address;
  };
  const floats = (count) => memory.allocate(4 * count);
  const captured = capture ? captureRoom(model, rows, keys) : {};
  const { places, size } = bufferOf(model.values, rows, shape.heads * rows * keys);
  const [buffer, input, final] = [size, rows * shape.d, outs.length * shape.d].map(floats);
  const logits = floats(outs.length * shape.vocab);
  const experts = expertsRoom(model, rows);
  const summaryRooms = outs.map(() => (capture ? summaryRoom(model) : {}));
  const summaries = structures.list("summary", summaryRooms);
  const [own, all] = [longs(slots.slice(keys - rows)), longs(slots)];
  const before = position ?? keys - rows;
  const address = structures.list("pass", [
    {
      ...{ ids: longs(ids), positions: longs(ids.map((_, i) => before + i)), own: [own, own], out_rows: longs(outs) },
      sequences: [{ start: 0, queries: rows, keys, slots: [all, all], scores: 0, padded: keys, ...captured }],
      edits: edits.map(({ rows: added, ...edit }) => ({ ...edit, add: added ? writeFloats(memory, added) : 0 })),
      ...{ rows, outs: outs.length, members: 1, edits_count: edits.length, whole: onLayer ? 1 : 0 },
      ...places,
      ...{ buffer, input, final, logits, summaries, chosen: experts.chosen, shares: experts.shares },
    },
  ]);
  if (entering) memory.floats(input, entering.length).set(entering);
  const leaving = (layer) => buffer + 4 * (places.ends + (layer % 2) * rows * shape.d);
  return {
    ...{ address, rows, keys, places, buffer, experts, leaving },
    /** @returns {number} the address of the rows that enter a layer */
    entering: (layer) => (layer === start ? input : leaving(layer - 1)),
    /** @returns {Results} */
    results: () => ({
      logits: memory.floats(logits, outs.length * shape.vocab),
      final: memory.floats(final, outs.length * shape.d),
      captured: capture ? readCaptured(model, captured, rows, keys) : null,
      experts: experts.each ? allExperts(model, experts, rows) : null,
      summary: (out) => readSummary(model, summaries, out),
    }),
  };
}

/** Returns the place of each value in the buffer, and its size, in floats. */
function bufferOf(values, rows, scores) {
  const places = {};
  let size = 0;
  for (const [name, [each, ofRow]] of Object.entries(values)) {
    places[name] = size;
    size += each + ofRow * rows + (name === "scores" || name === "weights" ? scores : 0);
  }
  return { places, size };
}

/** Returns a copy of the value at a hook point of a layer. */
function copyAt({ memory, shape, points, values }, pass, layer, point) {
  const { rows, keys, places, buffer, experts } = pass;
  const [value, first, end] = points[point];
  if (value === "") return memory.floats(pass.entering(layer), rows * shape.d).slice();
  if (value === "ends") return memory.floats(pass.leaving(layer), rows * shape.d).slice();
  if (value === "chosen" || value === "shares") {
    return readExperts(memory, experts, layer * rows * experts.each, rows * experts.each)[value];
  }
  const start = buffer + 4 * places[value];
  if (value === "scores" || value === "weights") return memory.floats(start, shape.heads * rows * keys).slice();
  const each = OF_HEADS.includes(value) ? shape.head_dim : 1;
  const stride = values[value][1];
  const [from, to] = [first * each, end === null ? stride : end * each];
  const all = memory.floats(start, rows * stride);
  if (from === 0 && to === stride) return all.slice();
  const part = new Float32Array(rows * (to - from));
  for (let row = 0; row < rows; row++) {
    part.set(all.subarray(row * stride + from, row * stride + to), row * (to - from));
  }
  return part;
}

/** Returns room for the experts of all rows, of which a layer may have none, as the addresses of [layers, rows, each]. */
function expertsRoom({ memory, shape, noExpert }, rows) {
  const each = Math.max(0, ...shape.layers.map(({ experts }) => experts?.[0].chosen ?? 0));
  const count = shape.layers.length * rows * each;
  const [chosen, shares] = [memory.allocate(4 * count), memory.allocate(4 * count)];
  memory.ints(chosen, count).fill(noExpert);
  memory.floats(shares, count).fill(0);
  return { each, chosen, shares };
}

/** @returns {Experts} */
const allExperts = ({ memory, shape }, experts, rows) => ({
  ...readExperts(memory, experts, 0, shape.layers.length * rows * experts.each),
  each: experts.each,
});

const readExperts = (memory, { chosen, shares }, first, count) => ({
  chosen: memory.ints(chosen + 4 * first, count).slice(),
  shares: memory.floats(shares + 4 * first, count).slice(),
});

function captureRoom({ memory, shape }, rows, keys) {
  const layers = shape.layers.length;
  const lengths = Object.entries(LENGTHS).map(([name, count]) => [
    name,
    memory.allocate(2 * layers * (count ? shape[count] : 1) * rows),
  ]);
  return { attention: memory.allocate(layers * shape.heads * rows * keys), ...Object.fromEntries(lengths) };
}

/** Returns copies of what frames show: attention [layers, heads, rows, keys], lengths as float16 [layers, heads or none, rows]. */
function readCaptured({ memory, shape }, captured, rows, keys) {
  const layers = shape.layers.length;
  const lengths = Object.entries(LENGTHS).map(([name, count]) => [
    name,
    memory.halves(captured[name], layers * (count ? shape[count] : 1) * rows).slice(),
  ]);
  return {
    attention: memory.bytes(captured.attention, layers * shape.heads * rows * keys).slice(),
    ...Object.fromEntries(lengths),
  };
}

function summaryRoom({ memory, shape, shown }) {
  const count = Math.min(shown.top, shape.vocab);
  return {
    ids: memory.allocate(4 * count),
    top: memory.allocate(4 * count),
    counts: memory.allocate(4 * shown.quarters * shown.bins),
  };
}

/**
 * @returns {{finite: boolean, best: number, largest: number, smallest: number, total: number, weighted: number, ids: Int32Array, top: Float32Array,
 *   counts: Int32Array}} what a step needs of one row's logits (model/engine/distribution.py); ids, top and counts only if captured
 */
function readSummary({ memory, structures, shape, shown }, summaries, out) {
  const field = (name) => structures.read("summary", name, summaries, out);
  const count = Math.min(shown.top, shape.vocab);
  const room = field("ids");
  return {
    finite: field("finite") === 1,
    ...{ best: field("best"), largest: field("largest"), smallest: field("smallest") },
    ...{ total: field("sum"), weighted: field("weighted") },
    ids: room ? memory.ints(room, count).slice() : new Int32Array(0),
    top: room ? memory.floats(field("top"), count).slice() : new Float32Array(0),
    counts: room ? memory.ints(field("counts"), shown.bins).slice() : new Int32Array(0),
  };
}

function writeFloats(memory, numbers) {
  const address = memory.allocate(4 * numbers.length);
  memory.floats(address, numbers.length).set(numbers);
  return address;
}
