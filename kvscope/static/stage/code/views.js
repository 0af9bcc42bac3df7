/** Which function of the source each view shows, and which view shows a tensor. Pure. */

import { ZOOMS } from "../../shared/state/views.js";

/** The function of the source that computes what a view shows. */
export const OF_VIEW = {
  model: { path: "model/transformer.py", name: "Transformer.forward" },
  block: { path: "model/transformer.py", name: "Attention.forward" },
  head: { path: "model/transformer.py", name: "Attention._mix" },
  pair: { path: "model/transformer.py", name: "Attention._mix" },
  tokens: { path: "model/engine/sampling.py", name: "choose" },
  cache: { path: "model/kv_cache.py", name: "KVCache.write" },
  time: { path: "model/transformer.py", name: "Transformer.forward" },
};

/** Names that the model view shows; those of a block are in the block view. */
const IN_MODEL = ["tokens", "embedded", "final", "logits", "choice"];

/** @returns {string} the view that shows these tensors; the open one if it may */
export function viewWith(names, view) {
  if (names.some((name) => IN_MODEL.includes(name))) return "model";
  return view === "model" || !ZOOMS.includes(view) || names.length ? "block" : view;
}
