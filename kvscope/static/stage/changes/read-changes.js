/** Reads the changes that the address names, as `changeText` writes them. Pure. */

import { DEFAULTS, fitted, headsAt } from "../../shared/facts/changes.js";
import { integer, listed } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { OPS, opsAt, sitesOf } from "./choices.js";

/** @typedef {import("../../shared/facts/changes.js").Change} Change */

/** A name and its value: a number, or a text in quotes as JSON writes it. */
const FIELD = /^([a-z_]+) ("(?:[^"\\]|\\.)*"|\S+)(?: |$)/;
const TEXTS = ["source", "away"];

/**
 * @param {string[]} texts
 * @param {import("../../shared/log/run.js").Run} run that is changed
 * @returns {{changes: Change[], problem: {message: string}|null}} the changes that are valid; `problem`: the other ones, each with the reason
 */
export function readChanges(texts, run) {
  const results = texts.map((text) => ({ text, ...changeOf(text, run) }));
  const refusals = results
    .filter(({ refusal }) => refusal)
    .map(({ text, refusal }) => msg`The address names the change “${text}”: ${refusal} It is left out.`);
  return {
    changes: results.flatMap(({ change }) => change ?? []),
    problem: refusals.length ? { message: refusals.join(" ") } : null,
  };
}

/** @returns {{change?: Change, refusal?: string}} */
function changeOf(text, run) {
  const [, op, site, rest = ""] = /^(\S+) (\S+)(?: (.*))?$/s.exec(text.trim()) ?? [];
  const [ops, sites] = [OPS.map((each) => each.op), sitesOf(run.open.model).map((each) => each.site)];
  if (!ops.some((each) => each === op)) return { refusal: msg`it must begin with one of ${listed(ops)}.` };
  if (!sites.some((each) => each === site)) return { refusal: msg`its second word must be one of ${listed(sites)}.` };
  const possible = opsAt({ site }).map((each) => each.op);
  if (!possible.some((each) => each === op))
    return { refusal: msg`of an expert, it must begin with one of ${listed(possible)}.` };
  const { fields, refusal } = fieldsOf(rest);
  if (refusal) return { refusal };
  const written = /** @type {Change} */ ({ op, site, ...DEFAULTS, ...fields });
  const change = fitted(written);
  for (const name of Object.keys(DEFAULTS)) {
    const isKept = written[name] === change[name];
    if (!isKept && written[name] === DEFAULTS[name]) return { refusal: msg`${name} is missing.` };
    if (!isKept) return { refusal: msg`${name} does not belong to it.` };
    const most = mostOf(name, change, run);
    if (most !== null && change[name] !== null && !isWithin(change[name], most))
      return { refusal: msg`${name} is ${change[name]}; it must be a whole number from 0 to ${integer(most)}.` };
  }
  return { change };
}

/** @returns {{fields: Object, refusal?: string}} */
function fieldsOf(rest) {
  const fields = {};
  for (let left = rest; left; ) {
    const [all, name, json] = FIELD.exec(left) ?? [];
    if (all === undefined || !Object.hasOwn(DEFAULTS, name)) {
      const names = listed(Object.keys(DEFAULTS));
      return { fields, refusal: msg`“${left}” must be names and values; the names are ${names}.` };
    }
    const value = readValue(json);
    const kind = TEXTS.includes(name) ? "string" : "number";
    if (typeof value !== kind)
      return {
        fields,
        refusal: kind === "string" ? msg`${name} must be a text in quotes.` : msg`${name} must be a number.`,
      };
    fields[name] = value;
    left = left.slice(all.length);
  }
  return { fields };
}

function readValue(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

const isWithin = (value, most) => Number.isInteger(value) && value >= 0 && value <= most;

/** @returns {number|null} the largest value of a field with a whole number; null for another field */
function mostOf(name, change, { open, promptLength }) {
  const { model, limits } = open;
  if (name === "layer") return model.layers - 1;
  if (name === "head") return headsAt(change, model) - 1;
  if (name === "position") return promptLength - 1 + (change.op === "patch" ? 0 : limits.max_new_tokens);
  return name === "from_step" ? limits.max_new_tokens : null;
}
