/** The first frames of runs that derive from another, made from its log as kvscope/model/log/derived.py does. Pure. */

import { decodeFrame } from "../../shared/log/frames.js";
import { relabelled } from "../log/encode.js";

/**
 * @param {Uint8Array[]} payloads the parent's frames up to the step whose token is replaced
 * @param {{run: string, parent: string, position: number, token: Object, recomputed: Object, created: string}} fork
 * @returns {Uint8Array[]} the branch's first frames: the parent's, with `token` in place of the last one
 */
export function forked(payloads, { run, parent, position, token, recomputed, created }) {
  const last = payloads.length - 1;
  return payloads.map((payload, seq) => {
    if (seq === 0)
      return relabelled(
        payload,
        { run, seq },
        { parent: { run: parent, position, token: token.id, recomputed }, created },
      );
    if (seq < last) return relabelled(payload, { run, seq });
    const { data, tensors } = decodeFrame(payload);
    const continued = data.token.id === token.id;
    return relabelled(payload, { run, seq }, continued ? {} : { token: forcedToken(data, tensors, token) });
  });
}

/** @returns {Uint8Array} the `open` frame of a twin without a cache, which has as many steps as the run that it is of */
export function twinOpening(payload, { run, of, steps, created }) {
  const { data } = decodeFrame(payload);
  const limits = { ...data.limits, max_new_tokens: steps };
  const study = { kind: "twin", of, cache: "none" };
  return relabelled(payload, { run, seq: 0 }, { parent: null, reused: 0, prefix: null, limits, study, created });
}

/** @returns {Uint8Array} the `open` frame of a run with these changes */
export function changedOpening(payload, { run, of, changes, created }) {
  const rest = { parent: null, reused: 0, prefix: null };
  return relabelled(payload, { run, seq: 0 }, { ...rest, changed: { of, changes }, created });
}

/** Returns a token as it replaces another. Its raw probability is known if it is among the frame's best tokens. */
function forcedToken({ log_z: logZ }, { top_ids: ids, top_logits: logits }, token) {
  const rank = ids.data.indexOf(token.id);
  const prob = rank < 0 ? null : Math.exp(logits.data[rank] - logZ);
  return { ...token, prob, raw_prob: prob, forced: true };
}
