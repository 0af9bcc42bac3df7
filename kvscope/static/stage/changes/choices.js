/** Where a model can be changed, and how. Pure. */

import { OF_EXPERTS } from "../../shared/facts/changes.js";
import { msg } from "../../shared/words/msg.js";

/** @type {{site: import("../../shared/facts/changes.js").Site, name: string}[]} */
export const SITES = [
  { site: "head", name: msg`attention head` },
  { site: "attention", name: msg`attention, all heads` },
  { site: "mlp", name: "MLP" },
  { site: "layer", name: msg`layer: attention and MLP` },
  { site: "residual", name: msg`residual stream after a layer` },
  { site: "k", name: msg`K of a KV head` },
  { site: "v", name: msg`V of a KV head` },
  { site: "token", name: msg`token, as it enters layer 0` },
  { site: "expert", name: msg`expert of an MLP` },
];

/** @type {{op: import("../../shared/facts/changes.js").Op, name: string}[]} */
export const OPS = [
  { op: "zero", name: msg`switch off: zero` },
  { op: "mean", name: msg`switch off: mean over the prompt` },
  { op: "scale", name: msg`multiply` },
  { op: "patch", name: msg`take from a second prompt` },
  { op: "steer", name: msg`steer with two prompts` },
];

/** @returns {typeof OPS} how the values of a site can be changed */
export const opsAt = ({ site }) => (site === "expert" ? OPS.filter(({ op }) => OF_EXPERTS.includes(op)) : OPS);

/** @returns {typeof SITES} the places at which a model can be changed */
export const sitesOf = ({ experts }) => SITES.filter(({ site }) => experts || site !== "expert");
