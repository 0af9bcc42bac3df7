/** The shapes of a step without its model: the source has them in letters, and a log has what each letter stands for. Pure. */

import { lettersOf, productOf, sizeOf } from "../../shared/facts/shapes.js";

/**
 * Returns the rows and keys of a step with a single pass.
 *
 * @param {import("../../shared/log/run.js").Run} run
 * @param {number} step
 * @returns {{rows: number, keys: number}|null} null if a log lacks them: for several passes, which share the rows, and for a
 *   study, whose rows see other positions
 */
export function passOf({ open, steps }, step) {
  const { ms, position, rows_computed: rows } = steps[step].data;
  return open.study || ms.chunks.length > 1 ? null : { rows, keys: position + 1 };
}

/**
 * @param {import("../../shared/code/source.js").Source} source
 * @param {Object} model of a log, complete
 * @param {{rows: number, keys: number}} pass
 * @returns {{lines: Object<string, Object<string, import("../../shared/code/tensors.js").Tensor[]>>, ran: null, rows: number, passes: 1}} as the
 *   server answers for a step; `ran` is null because a log does not say which of the other lines ran
 */
export function shapesOf({ files }, model, pass) {
  const letters = lettersOf(model, pass);
  const tensorOf = ({ of, hook, axes }) => {
    const shape = axes.map((axis) => sizeOf(axis, letters));
    const bytes = model.element_bytes * productOf(shape);
    return { of, hook, shape, dtype: model.dtype, bytes };
  };
  const runs = ({ when }) => Object.entries(when).every(([name, value]) => Boolean(model[name]) === value);
  const lines = files.map(({ path, shapes }) => [
    path,
    Object.fromEntries(shapes.filter(runs).map(({ line, tensors }) => [line, tensors.map(tensorOf)])),
  ]);
  return { lines: Object.fromEntries(lines), ran: null, rows: pass.rows, passes: 1 };
}
