/**
 * Steps of a real run as points under a roofline and on the curves of length. Time is measured; operations and bytes are those
 * that the engine counts of the matrices it really multiplied (docs/frames.md). For decode, speed.js agrees within 0.03 %.
 * For prefill it gives more, 23 % for 11 tokens of SmolLM2-135M, because it multiplies every row by the LM head.
 * A step that shared its pass with other runs is left out, because the time is that of all of them. Pure.
 *
 * @typedef {{step: number, phase: "prefill"|"decode", rows: number, tokens: number, ms: number, flops: number, bytes: number,
 *   intensity: number, perSecond: number}} Point
 */

/**
 * @param {Object[]} steps `data` of the `step` frames of a run
 * @returns {{points: Point[], shared: number}} `shared`: how many are left out
 */
export function pointsOf(steps) {
  const alone = steps.filter(({ batch }) => batch === 1);
  const points = alone.map(({ step, phase, position, rows_computed: rows, ms, flops, bytes_read: bytes }) => ({
    ...{ step, phase, tokens: position + 1, rows },
    ...{ ms: ms.forward, flops, bytes, intensity: flops / bytes, perSecond: flops / (ms.forward / 1000) },
  }));
  return { points, shared: steps.length - alone.length };
}

/**
 * Returns what a run's cache holds after each step, and the attention weights that one head has computed until then, as the
 * mean over all layers. A row has one weight for itself and one for each earlier token, in layers with a window only for
 * those in the window.
 *
 * @param {Object[]} steps
 * @param {(number|null)[]|null} windows of the layers
 * @returns {{tokens: number, bytes: number, pairs: number}[]}
 */
export function lengthsOf(steps, windows) {
  const layers = windows ?? [null];
  const read = (keys) => layers.reduce((sum, window) => sum + Math.min(keys, window ?? keys), 0) / layers.length;
  let [rows, pairs] = [0, 0];
  return steps.map(({ position, kv }) => {
    for (; rows <= position; rows++) pairs += read(rows + 1);
    return { tokens: kv.positions, bytes: kv.bytes_used, pairs };
  });
}
