/** Smaller forms that a cache can really be stored in, and what is said of what they lose. Pure. */

/** By name of the engine's dtypes: what it is called, and how it is done. */
export const DTYPES = {
  float32: { name: "float32", how: "as it is" },
  bfloat16: { name: "bf16", how: "2 bytes a number" },
  int8: { name: "int8", how: "1 byte a number, and 2 bytes a vector for its scale" },
  int4: { name: "int4", how: "half a byte a number, and 2 bytes a vector for its scale" },
};

/**
 * @param {{kv_heads: number, dtype: string}} model of an `open` frame
 * @returns {{dtype: string, kvHeads: number}[]} fewer bits with all heads, then fewer heads
 */
export function smallerForms({ kv_heads: kvHeads, dtype }) {
  const bits = ["bfloat16", "int8", "int4"].filter((each) => each !== dtype).map((each) => ({ dtype: each, kvHeads }));
  const fewer = Array.from({ length: kvHeads - 1 }, (_, at) => kvHeads - 1 - at).filter((each) => kvHeads % each === 0);
  return [...bits, ...fewer.map((each) => ({ dtype: "float32", kvHeads: each }))];
}

/** @returns {string} */
export function formName({ dtype, kvHeads }, all) {
  const { name } = DTYPES[dtype];
  return kvHeads === all ? name : `${name}, ${all} KV heads merged to ${kvHeads}`;
}

/**
 * @param {{kl: number[], likeliest: Object[][]}} loss
 * @returns {{mean: number, most: number, parts: {step: number, was: Object, became: Object}|null}} `kl` over the steps, in
 *   nats; `parts`: the first step whose likeliest token is another, null where there is none
 */
export function lossOf({ kl, likeliest }) {
  const step = likeliest.findIndex(([was, became]) => was.id !== became.id);
  return {
    mean: kl.reduce((sum, each) => sum + each, 0) / kl.length,
    most: Math.max(...kl),
    parts: step < 0 ? null : { step, was: likeliest[step][0], became: likeliest[step][1] },
  };
}
