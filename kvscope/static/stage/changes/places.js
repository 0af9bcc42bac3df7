/** The places that a view shows and a run can be changed at. Pure. */

import { kvHeadOf } from "../../shared/facts/attention.js";
import { switchedOff } from "../../shared/facts/changes.js";

/** Views of the next token and of time, which are of no place in the model. */
const OF_NO_PLACE = ["tokens", "time"];

/** @returns {boolean} whether a view is about one place in the model: the first of `changesIn` */
export const hasPlace = (view) => !OF_NO_PLACE.includes(view);

/**
 * @param {import("../../shared/log/run.js").Run} run
 * @param {string} view of the inspector
 * @param {{layer: number, head: number, query: number|null, key: number|null}} selection
 * @returns {import("../../shared/facts/changes.js").Change[]} each switched off; the first is what the view is about
 */
export function changesIn(run, view, { layer, head, query, key }) {
  const token = query === null ? [] : [switchedOff("token", { position: query })];
  const cached = ["k", "v"].map((site) => switchedOff(site, { layer, head: kvHeadOf(run, head), position: key }));
  const ofLayer = ["layer", "attention", "mlp"].map((site) => switchedOff(site, { layer }));
  const ofHead = switchedOff("head", { layer, head });
  if (view === "model" || view === "block") return [...ofLayer, ofHead, ...token];
  if (view === "cache") return [...cached, ofHead, ...token];
  return [ofHead, ...cached, ...ofLayer, ...token];
}
