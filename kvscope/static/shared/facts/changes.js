/**
 * The changes of a run (docs/frames.md, Changed runs): where they can be made, and the words for them on every page, in the address and
 * for the API's refusals. Pure.
 *
 * @typedef {"head"|"attention"|"mlp"|"layer"|"residual"|"k"|"v"|"token"|"expert"} Site
 * @typedef {"zero"|"mean"|"scale"|"patch"|"steer"} Op
 * @typedef {{site: Site, op: Op, layer: number|null, head: number|null, position: number|null, from_step: number, factor: number,
 *   source: string|null, away: string|null}} Change
 */

import { isOfOtherModel } from "../log/model.js";
import { msg } from "../words/msg.js";
import { kvHeadOf } from "./attention.js";
import { fixed, integer, quoted } from "./format.js";
import { unhandled } from "./unhandled.js";

/** The fields besides `op` and `site`, with the value that each has unless a change names another. */
export const DEFAULTS = {
  ...{ layer: null, head: null, position: null },
  ...{ from_step: 0, factor: 1, source: null, away: null },
};
const OF_A_HEAD = ["head", "k", "v", "expert"];
/** An expert is switched off, or chosen more or less readily. */
export const OF_EXPERTS = ["zero", "scale"];
const CACHED = ["k", "v"];
const WITH_SOURCE = ["patch", "steer"];
/** A list of more changes is counted instead of named. */
export const MOST_NAMED = 3;
/** How many characters of a prompt a sentence quotes. */
const PROMPT_CHARS = 28;

/**
 * @param {Site} site
 * @param {{layer?: number, head?: number, position?: number}} [place]
 * @returns {Change} that switches the place off (zero) from the start
 */
export function switchedOff(site, place = {}) {
  return fitted({ ...DEFAULTS, site, op: "zero", ...place });
}

export const hasHead = ({ site }) => OF_A_HEAD.includes(site);
export const hasLayer = ({ site }) => site !== "token";
export const isCached = ({ site }) => CACHED.includes(site);
export const hasSource = ({ op }) => WITH_SOURCE.includes(op);
export const hasFactor = ({ op }) => op === "scale" || op === "steer";

/** @returns {Change} the change with the fields that its site and op need; the viewer may have chosen another site or op before */
export function fitted(written) {
  const change = written.site !== "expert" || OF_EXPERTS.includes(written.op) ? written : { ...written, op: "zero" };
  return {
    ...change,
    layer: hasLayer(change) ? (change.layer ?? 0) : null,
    head: hasHead(change) ? (change.head ?? 0) : null,
    position: change.site === "token" ? (change.position ?? 0) : change.position,
    // A patch replaces rows of the prompt, which only step 0 computes.
    from_step: change.op === "patch" ? 0 : change.from_step,
    factor: hasFactor(change) ? change.factor : 1,
    source: hasSource(change) ? (change.source ?? "") : null,
    away: change.op === "steer" ? (change.away ?? "") : null,
  };
}

/** @returns {number} how many heads, KV heads or experts the model has at this site */
export function headsAt({ site }, { heads, kv_heads: kvHeads, experts }) {
  if (site === "expert") return experts?.count ?? 0;
  return CACHED.includes(site) ? kvHeads : heads;
}

/**
 * The run whose changes are edited when this one is shown: the original, so that the list replaces the list. A branch of a changed run
 * keeps its own given token, so it is the original of its next changes.
 *
 * @param {{id: string, open: Object}} run
 * @returns {string} the id of a run
 */
export function baseOf({ id, open }) {
  return open.changed && !open.parent ? open.changed.of : id;
}

/** Stands in place of an experiment that the API refuses for a changed run. */
export const OF_ORIGINAL = msg`This is computed for the model as it is, and this run has changes. Open the original run for it.`;

/**
 * @param {import("../log/run.js").Run} run
 * @param {{sha256: string}|null} model that the server runs
 * @returns {string|null} why the run cannot be computed with changes, as the API would refuse it
 */
export function changeRefusal(run, model) {
  if (run.saved) return msg`A saved run cannot be changed. Run its prompt again to change it.`;
  if (run.open.study) return msg`This run was computed for comparison with another run. Change that run instead.`;
  if (isOfOtherModel(run, model)) return msg`The run is of another model than the one that the server runs.`;
  return null;
}

/** @returns {string} where a change is made, such as “head 3 of layer 1” */
export function placeInWords(change, tokens) {
  const place = siteInWords(change, tokens);
  if (change.position === null || change.site === "token") return place;
  return msg`${place} at ${tokenAt(change.position, tokens)}`;
}

/** @param {Change} change */
function siteInWords({ site, layer, head, position }, tokens) {
  switch (site) {
    case "head":
      return msg`head ${head} of layer ${layer}`;
    case "attention":
      return msg`the attention of layer ${layer}`;
    case "mlp":
      return msg`the MLP of layer ${layer}`;
    case "layer":
      return msg`layer ${layer}`;
    case "residual":
      return msg`the residual stream after layer ${layer}`;
    case "k":
    case "v":
      return msg`${site.toUpperCase()} of KV head ${head} in layer ${layer}`;
    case "expert":
      return msg`expert ${head} of layer ${layer}`;
    case "token":
      return tokens[position]
        ? msg`token ${tokenAt(position, tokens)}`
        : msg`the token at ${tokenAt(position, tokens)}`;
    default:
      return unhandled(site);
  }
}

function tokenAt(position, tokens) {
  const token = tokens[position];
  return token ? msg`${quoted(token)} (position ${position})` : msg`position ${position}`;
}

/** @returns {string} a change in words, such as “head 3 of layer 1 switched off (zero)” */
export function changeInWords(change, tokens) {
  const [what, from] = [withOp(change, placeInWords(change, tokens)), change.from_step];
  return from ? msg`${what} from step ${from} on` : what;
}

/** @param {Change} change */
function withOp({ op, factor, source, away }, place) {
  switch (op) {
    case "zero":
      return msg`${place} switched off (zero)`;
    case "mean":
      return msg`${place} switched off (mean over the prompt)`;
    case "scale":
      return msg`${place} multiplied by ${plain(factor)}`;
    case "patch":
      return msg`${place} taken from ${brief(source)}`;
    case "steer":
      return msg`${place} steered by ${plain(factor)} × (${brief(source)} − ${brief(away)})`;
    default:
      return unhandled(op);
  }
}

function brief(prompt) {
  const letters = [...prompt.replace(/\s+/g, " ")];
  return letters.length > PROMPT_CHARS ? `“${letters.slice(0, PROMPT_CHARS).join("")}…”` : `“${letters.join("")}”`;
}

/** @returns {string} a factor as it was typed: 0.5, 2, −3 */
function plain(factor) {
  return Number.isInteger(factor)
    ? integer(factor)
    : fixed(factor, Math.min(6, String(factor).split(".")[1]?.length ?? 3));
}

/** @returns {string} the changes, each in words; more than MOST_NAMED are counted */
export function eachChangeInWords(changes, tokens) {
  return changes.length <= MOST_NAMED
    ? changes.map((change) => changeInWords(change, tokens)).join("; ")
    : msg`${changes.length} places in the model`;
}

/** @returns {string} a single change in words, as part of a sentence; several are counted */
export function changesInWords(changes, tokens) {
  return changes.length === 1 ? changeInWords(changes[0], tokens) : msg`${changes.length} changes`;
}

/** @returns {string} a change as the address writes it, with the names of the API: `patch residual layer 4 source "The sky"` */
export function changeText({ op, site, ...fields }) {
  const named = Object.keys(DEFAULTS).filter((name) => (fields[name] ?? DEFAULTS[name]) !== DEFAULTS[name]);
  return [op, site, ...named.map((name) => `${name} ${JSON.stringify(fields[name])}`)].join(" ");
}

/**
 * @param {Change[]} changes
 * @param {{layer: number, head?: number, kvHead?: number, query?: number, key?: number}} place a cell of the map
 * @param {{heads: number, kvHeads: number}} run
 * @returns {Change[]} the changes at this cell, which is a head, K and V of a KV head, or a row of the residual stream
 */
export function changesAt(changes, place, run) {
  const { layer, head, kvHead, query = null, key = null } = place;
  return changes.filter((change) => {
    if (change.site === "token") return head === undefined && kvHead === undefined && change.position === query;
    if (change.layer !== layer) return false;
    const reaches = (position) => change.position === null || position === null || change.position === position;
    if (CACHED.includes(change.site))
      return head === undefined
        ? change.head === kvHead && reaches(key)
        : change.head === kvHeadOf(run, head) && reaches(key);
    if (change.site === "head") return change.head === head && reaches(query);
    if (change.site === "attention") return kvHead === undefined && reaches(query);
    return head === undefined && kvHead === undefined && reaches(query);
  });
}

/**
 * @param {{field: string|null}|null} problem of the API
 * @returns {{index: number, member: string}|null} the change and field that the problem names, as in `changes[2].source`; null if it names none
 */
export function changeNamedBy(problem) {
  const [, index, member] = /^changes\[(\d+)\]\.?(.*)$/.exec(problem?.field ?? "") ?? [];
  return index === undefined ? null : { index: Number(index), member };
}

/**
 * @param {import("../log/run.js").Run} original
 * @param {import("../log/run.js").Run} run made from it
 * @returns {boolean} whether a step follows the same tokens in both, so that only the changes differ
 */
export function followsSameTokens(original, run, step) {
  const length = run.promptLength + step;
  return (
    original.steps.length > step && run.tokens.slice(0, length).every(({ id }, i) => id === original.tokens[i]?.id)
  );
}
