/**
 * The shapes of a step without its model: the source has them in letters (`T H Dh`), and a log has what each letter stands for.
 * Pure.
 */

/** A term of an axis: "2Hkv". */
const TERM = /^(\d*)([A-Z]\w*)$/i;

/**
 * @param {Object} model of a log, complete
 * @param {{rows: number, keys: number}} pass its rows, and the positions that its last row can attend to
 * @returns {Object<string, number>} what the letters of shapes stand for (model/transformer.py), in a pass of one sequence
 */
export function lettersOf({ d, d_mlp, heads, kv_heads, head_dim, vocab, experts }, { rows, keys }) {
  return {
    ...{ D: d, F: d_mlp, H: heads, Hkv: kv_heads, G: heads / kv_heads, Dh: head_dim, V: vocab },
    ...{ E: experts?.count, X: experts?.chosen },
    ...{ T: rows, Q: rows, N: 1, B: 1, K: keys },
  };
}

/** @returns {number} of "T", "H*Dh" or "(H+2Hkv)*Dh" */
export function sizeOf(axis, letters) {
  const factors = axis.split("*").map((factor) =>
    factor
      .replace(/[()]/g, "")
      .split("+")
      .map((term) => {
        const [, times, letter] = TERM.exec(term);
        return Number(times || 1) * letters[letter];
      })
      .reduce((sum, each) => sum + each),
  );
  return factors.reduce((product, each) => product * each);
}

/**
 * What is known of the rows of a step's only pass.
 *
 * @param {import("../../shared/log/run.js").Run} run
 * @param {number} step
 * @returns {{rows: number, keys: number}|null} null: a log does not say how several passes share the rows, nor which positions the
 *   rows of a study see
 */
export function passOf({ open, steps }, step) {
  const { ms, position, rows_computed: rows } = steps[step].data;
  if (open.study || ms.chunks.length > 1) return null;
  return { rows: rows ?? (step > 0 ? 1 : open.tokens.length - open.reused), keys: position + 1 };
}

/**
 * @param {import("../../shared/code/source.js").Source} source
 * @param {Object} model of a log, complete
 * @param {{rows: number, keys: number}} pass
 * @returns {{lines: Object<string, Object<string, import("../../shared/code/tensors.js").Tensor[]>>, ran: null, rows: number, passes: 1}} as the server gives it of a
 *   step; nobody knows which of the other lines ran
 */
export function shapesOf({ files }, model, pass) {
  const letters = lettersOf(model, pass);
  const tensorOf = ({ of, hook, axes }) => {
    const shape = axes.map((axis) => sizeOf(axis, letters));
    const bytes = shape.reduce((product, each) => product * each, model.element_bytes);
    return { of, hook, shape, dtype: model.dtype, bytes };
  };
  const runs = ({ when }) => Object.entries(when).every(([name, value]) => Boolean(model[name]) === value);
  const lines = files.map(({ path, shapes }) => [
    path,
    Object.fromEntries(shapes.filter(runs).map(({ line, tensors }) => [line, tensors.map(tensorOf)])),
  ]);
  return { lines: Object.fromEntries(lines), ran: null, rows: pass.rows, passes: 1 };
}
