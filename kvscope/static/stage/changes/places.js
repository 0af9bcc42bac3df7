/** The places in the model that a view shows, and at which a run can be changed. Pure. */

import { kvHeadOf } from "../../shared/facts/attention.js";
import { switchedOff } from "../../shared/facts/changes.js";

/** Views that show no place in the model. */
const WITHOUT_PLACE = ["tokens", "time"];

/** @returns {boolean} whether a view is about one place in the model: the first of `changesIn` */
export const hasPlace = (view) => !WITHOUT_PLACE.includes(view);

/**
 * @param {import("../../shared/log/run.js").Run} run
 * @param {string} view of the inspector
 * @param {{layer: number, head: number, query: number|null, key: number|null}} selection
 * @returns {import("../../shared/facts/changes.js").Change[]} that switch off one place each, first the one that the view is about
 */
export function changesIn(run, view, { layer, head, query, key }) {
  const token = query === null ? [] : [switchedOff("token", { position: query })];
  const ofKvHead = { layer, head: kvHeadOf(run, head), position: key };
  const cached = [switchedOff("k", ofKvHead), switchedOff("v", ofKvHead)];
  const ofLayer = [switchedOff("layer", { layer }), switchedOff("attention", { layer }), switchedOff("mlp", { layer })];
  const ofHead = switchedOff("head", { layer, head });
  const ofRow = query === null ? [] : run.experts(layer, query);
  const experts = ofRow.map(({ expert }) => switchedOff("expert", { layer, head: expert }));
  if (view === "model" || view === "block") return [...ofLayer, ...experts, ofHead, ...token];
  if (view === "cache") return [...cached, ofHead, ...token];
  return [ofHead, ...cached, ...ofLayer, ...token];
}
