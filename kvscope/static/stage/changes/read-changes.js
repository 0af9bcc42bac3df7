/** Reads the changes that an address names (stage/facts/change-text.js). Pure. */

import { fitted, headsAt, OPS, SITES } from "../../shared/facts/changes.js";
import { integer, listed } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { USUAL } from "../facts/change-text.js";

/** @typedef {import("../../shared/facts/changes.js").Change} Change */

/** A name and its value: a number, or a text in quotes as JSON writes it. */
const FIELD = /^([a-z_]+) ("(?:[^"\\]|\\.)*"|\S+)(?: |$)/;
const TEXTS = ["source", "away"];

/**
 * @param {string[]} texts
 * @param {import("../../shared/log/run.js").Run} run that is changed
 * @returns {{changes: Change[], problem: {message: string}|null}} those that can be read; `problem`: which cannot, and why
 */
export function readChanges(texts, run) {
  const read = texts.map((text) => ({ text, ...changeOf(text, run) }));
  const refused = read.filter(({ refusal }) => refusal);
  const message = refused.map(
    ({ text, refusal }) => msg`The address names the change “${text}”: ${refusal} It is left out.`,
  );
  return {
    changes: read.flatMap(({ change }) => change ?? []),
    problem: refused.length ? { message: message.join(" ") } : null,
  };
}

/** @returns {{change?: Change, refusal?: string}} */
function changeOf(text, run) {
  const [, op, site, rest = ""] = /^(\S+) (\S+)(?: (.*))?$/s.exec(text.trim()) ?? [];
  const [ops, sites] = [OPS.map((each) => each.op), SITES.map((each) => each.site)];
  if (!ops.some((each) => each === op)) return { refusal: msg`it must begin with one of ${listed(ops)}.` };
  if (!sites.some((each) => each === site)) return { refusal: msg`its second word must be one of ${listed(sites)}.` };
  const { fields, refusal } = fieldsOf(rest);
  if (refusal) return { refusal };
  const given = /** @type {Change} */ ({ op, site, ...USUAL, ...fields });
  const change = fitted(given);
  for (const name of Object.keys(USUAL)) {
    const asGiven = given[name] === change[name];
    if (!asGiven && given[name] === USUAL[name]) return { refusal: msg`${name} is missing.` };
    if (!asGiven) return { refusal: msg`${name} does not belong to it.` };
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
    const [all, name, written] = FIELD.exec(left) ?? [];
    if (all === undefined || !Object.hasOwn(USUAL, name)) {
      const names = listed(Object.keys(USUAL));
      return { fields, refusal: msg`“${left}” must be names and values; the names are ${names}.` };
    }
    const value = readValue(written);
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

function readValue(written) {
  try {
    return JSON.parse(written);
  } catch {
    return null;
  }
}

const isWithin = (value, most) => Number.isInteger(value) && value >= 0 && value <= most;

/** @returns {number|null} the largest value of a field that counts; null of others */
function mostOf(name, change, { open, promptLength }) {
  const { model, limits } = open;
  if (name === "layer") return model.layers - 1;
  if (name === "head") return headsAt(change, model) - 1;
  if (name === "position") return promptLength - 1 + (change.op === "patch" ? 0 : limits.max_new_tokens);
  return name === "from_step" ? limits.max_new_tokens : null;
}
