/**
 * The form of a workload: the text of each field, and the workload made from them. Invalid text stays in its field, beside an error. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { limitOf, mostStates } from "../shared/log/limits.js";
import { msg } from "../shared/words/msg.js";
import { BY_LAYERS, bestLayers, LOOKED_UP } from "./drafts.js";
import { letterOf } from "./owners.js";
import { arrivalOf, lengthsOf, newTokensOf, promptOf, SYSTEM } from "./prompts.js";
import { DRAFT_NUMBERS, draftFields, draftNumbers, SETTINGS, USUAL } from "./settings.js";

/**
 * @typedef {Object} RequestFields texts, as typed
 * @property {string} prompt
 * @property {string} newTokens
 * @property {string} arrives ms
 * @property {string} cancel ms, "" for never
 * @property {string} cancelTokens after which it is cancelled, "" for never
 * @property {string} retry the place of the request that is sent again, "" for none
 *
 * @typedef {Object} Fields
 * @property {string} count
 * @property {string} every ms
 * @property {import("./prompts.js").Lengths} lengths "own": a prompt was edited
 * @property {boolean} sameSystem
 * @property {string} system also while it is not used
 * @property {Object<string, string>} settings by field (settings.js)
 * @property {boolean} contiguous each request reserves one stretch of memory
 * @property {string} reserved tokens of an answer that are reserved, also while that is not used
 * @property {RequestFields[]} requests
 *
 * @typedef {{field: string, text: string, experiment?: string}} Problem `experiment`: the one in whose card it is shown
 * @typedef {import("../shared/log/limits.js").Limits} Limits
 */

const WHOLE = /^\d{1,9}$/;

/**
 * @param {number} at
 * @param {{lengths: import("./prompts.js").Lengths, every: number, count: number}} how
 * @returns {RequestFields}
 */
function defaultRequest(at, { lengths, every, count }) {
  return {
    ...{ prompt: promptOf(lengths, at, count), newTokens: String(newTokensOf(at)) },
    ...{ arrives: String(arrivalOf(at, every)), cancel: "", cancelTokens: "", retry: "" },
  };
}

/** @returns {Object<string, string>} the settings of a round as texts by field; `before`: the texts until now */
function asTyped(settings, before) {
  const numbers = Object.fromEntries(SETTINGS.map(({ field }) => [field, String(settings[field] ?? "")]));
  return { ...numbers, ...draftFields(settings.draft, before) };
}

/** @returns {Fields} */
function preset({ count, every, lengths, sameSystem = true, change = (requests) => requests, ...settings }) {
  const requests = Array.from({ length: count }, (_, at) => defaultRequest(at, { lengths, every, count }));
  return {
    ...{ count: String(count), every: String(every), lengths, sameSystem, system: SYSTEM },
    ...{ settings: asTyped(settings), contiguous: false, reserved: "64", requests: change(requests) },
  };
}

/** Tokens after which a request is cancelled, long before its answer is complete. */
const GIVES_UP_AFTER = 4;

/** Makes one request cancelled and the last one its retry. Tokens decide when, so that fast and slow machines do the same. */
function withRetry(requests) {
  const [cancelled, retry] = [2, requests.length - 1];
  return requests.map((request, at) => {
    if (at === cancelled) return { ...request, newTokens: "24", cancelTokens: String(GIVES_UP_AFTER) };
    if (at !== retry) return request;
    return { ...request, prompt: requests[cancelled].prompt, newTokens: "24", retry: String(cancelled) };
  });
}

/** Workloads that fill the form with one press. */
export const PRESETS = [
  {
    id: "nine",
    name: msg`Nine requests`,
    fields: () =>
      preset({ count: 9, every: 300, lengths: "mixed", at_once: 6, chunk: 128, blocks: 96, prefix: "tokens" }),
  },
  {
    id: "long",
    name: msg`One long prompt`,
    fields: () =>
      preset({ count: 6, every: 250, lengths: "long", at_once: 6, chunk: 512, blocks: 96, prefix: "tokens" }),
  },
  {
    id: "gives-up",
    name: msg`A cancelled request and its retry`,
    fields: () =>
      preset({
        count: 6,
        every: 250,
        lengths: "short",
        at_once: 6,
        chunk: 128,
        blocks: 96,
        prefix: "tokens",
        change: withRetry,
      }),
  },
  {
    id: "little",
    name: msg`Little memory`,
    fields: () =>
      preset({
        count: 7,
        every: 150,
        lengths: "mixed",
        at_once: 8,
        chunk: 128,
        blocks: 20,
        prefix: "tokens",
        change: withLongAnswers,
      }),
  },
  {
    id: "vllm",
    name: msg`As vLLM`,
    fields: () =>
      preset({
        count: 9,
        every: 300,
        lengths: "mixed",
        at_once: 6,
        chunk: 512,
        budget: 64,
        blocks: 96,
        prefix: "blocks",
      }),
  },
];

/** Makes answers so long that the requests of the batch need more memory than there is. */
function withLongAnswers(requests) {
  return requests.map((request) => ({ ...request, newTokens: "24" }));
}

export const FIRST = PRESETS[0].fields();

/** Whole numbers of the form: the label of each, and the member of the posted body whose bounds it has. */
const NUMBERS = [
  { field: "count", label: msg`Requests`, member: "requests", mostOf: mostStates },
  { field: "every", label: msg`Milliseconds between requests`, member: "arrives_ms" },
  ...SETTINGS.filter(({ choices }) => !choices).map(({ field, label, optional }) => ({
    ...{ field, label, member: field, optional },
  })),
];
const RESERVED = { field: "reserved", label: msg`Tokens reserved for an answer`, member: "new_tokens" };
const ALL_NUMBERS = [...NUMBERS, RESERVED, ...DRAFT_NUMBERS];

/** @returns {{least: number, most: number}} */
export function boundsOf(field, limits) {
  const { member, from = 0, mostOf } = ALL_NUMBERS.find((each) => each.field === field);
  const [least, most] = limitOf(limits, "workload", member);
  return { least: Math.max(least, from), most: mostOf ? mostOf(limits) : most };
}

/** @returns {string} a number of the form as it was typed */
export function typedIn(fields, field) {
  return fields.settings[field] ?? fields[field];
}

/** @returns {number|null} null if the text is not a whole number within the bounds */
function numberOf(text, least, most) {
  const value = WHOLE.test(text.trim()) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : null;
}

/**
 * @param {Fields} fields
 * @param {string} field of the form
 * @param {*} value as typed
 * @param {Limits} limits
 * @param {number} layers of the model
 * @returns {Fields} with the new value and the requests that follow from it; an invalid value changes no request
 */
export function withField(fields, field, value, limits, layers) {
  if (field === "draft_by") return { ...fields, settings: withDraft(fields.settings, value, layers) };
  if (field in fields.settings) return { ...fields, settings: { ...fields.settings, [field]: value } };
  const next = { ...fields, [field]: value };
  if (!["count", "every", "lengths"].includes(field)) return next;
  const numbers = Object.fromEntries(
    ["count", "every"].map((name) => {
      const { least, most } = boundsOf(name, limits);
      return [name, numberOf(next[name], least, most)];
    }),
  );
  if (numbers.count === null || numbers.every === null) return next;
  const { count, every } = numbers;
  return { ...next, requests: followed(next.requests, field, { count, every, lengths: next.lengths }) };
}

/** Sets the numbers with which the chosen draft guesses best. */
function withDraft(settings, draft_by, layers) {
  const numbers = {
    none: {},
    lookup: { draft_tokens: String(LOOKED_UP) },
    layers: { draft_tokens: String(BY_LAYERS), draft_layers: String(bestLayers(layers)) },
  }[draft_by];
  return { ...settings, ...numbers, draft_by };
}

function followed(requests, field, { count, every, lengths }) {
  const defaults = Array.from({ length: count }, (_, at) => defaultRequest(at, { lengths, every, count }));
  if (field === "lengths")
    return defaults.map((fresh, at) => ({ ...(requests[at] ?? fresh), prompt: fresh.prompt, retry: "" }));
  if (field === "every") return defaults.map((fresh, at) => ({ ...(requests[at] ?? fresh), arrives: fresh.arrives }));
  return defaults.map((fresh, at) => requests[at] ?? fresh);
}

/** @returns {Fields} with one text of one request changed */
export function withRequest(fields, at, name, text) {
  const requests = fields.requests.map((request, place) => (place === at ? { ...request, [name]: text } : request));
  return { ...fields, lengths: name === "prompt" ? "own" : fields.lengths, requests };
}

/**
 * @param {Fields} fields
 * @param {Limits} limits
 * @returns {{system: string, requests: Object[], settings: import("./workload-log.js").Settings}|{problem: Problem}} the
 *   request body without its rounds, or the first problem
 */
export function parsed(fields, limits) {
  const numbers = {};
  const drafts = draftNumbers(fields.settings);
  const reserved = fields.contiguous ? [RESERVED] : [];
  const counted = [...NUMBERS, ...reserved, ...DRAFT_NUMBERS.filter(({ field }) => drafts.includes(field))];
  for (const { field, label, optional } of counted) {
    if (optional && typedIn(fields, field).trim() === "") {
      numbers[field] = null;
      continue;
    }
    const { least, most } = boundsOf(field, limits);
    numbers[field] = numberOf(typedIn(fields, field), least, most);
    if (numbers[field] === null) return wrong(field, outside(label, typedIn(fields, field), least, most));
  }
  const system = fields.sameSystem ? fields.system : "";
  const [, longest] = limitOf(limits, "workload", "system");
  if (system.length > longest) return wrong("system", tooLong(msg`The system prompt`, system, longest));
  const requests = [];
  for (const [at, request] of fields.requests.entries()) {
    const read = readRequest(request, at, fields.requests, limits);
    if ("problem" in read) return read;
    requests.push(read);
  }
  const settings = /** @type {import("./workload-log.js").Settings} */ ({ ...USUAL });
  for (const { field, choices } of SETTINGS) settings[field] = choices ? fields.settings[field] : numbers[field];
  const fewest = settings.at_once * (1 + (drafts.length ? numbers.draft_tokens : 0));
  if (settings.budget !== null && settings.budget < fewest) return wrong("budget", smallBudget(fewest));
  if (settings.prefix === "blocks" && fields.contiguous)
    return wrong(
      "prefix",
      msg`Full blocks are not shared where each request has one reserved stretch of memory. Choose blocks as needed, or token by token.`,
    );
  settings.contiguous = fields.contiguous ? { new_tokens: numbers.reserved } : null;
  if (drafts.length) settings.draft = { tokens: numbers.draft_tokens, layers: numbers.draft_layers ?? 0 };
  return { system, requests, settings };
}

function wrong(field, text) {
  return { problem: { field, text } };
}

function outside(label, text, least, most) {
  const typed = text.trim().slice(0, 20);
  const lowest = integer(least);
  const highest = integer(most);
  return typed
    ? msg`${label}: “${typed}” is not a whole number from ${lowest} to ${highest}.`
    : msg`${label}: enter a whole number from ${lowest} to ${highest}.`;
}

function smallBudget(fewest) {
  const number = integer(fewest);
  return msg`Token budget of a pass: enter at least ${number}, or nothing. Each request of a full batch needs 1 token in every pass, and 1 more for each guess.`;
}

function tooLong(label, { length }, longest) {
  return msg`${label} has ${integer(length)} characters; the limit is ${integer(longest)}.`;
}

function readRequest({ prompt, newTokens, arrives, cancel, cancelTokens, retry }, at, all, limits) {
  const letter = letterOf(at);
  const field = (name) => `requests.${at}.${name}`;
  const [, most] = limitOf(limits, "workload", "arrives_ms");
  const [, longest] = limitOf(limits, "workload", "prompt");
  const [, tokens] = limitOf(limits, "workload", "max_new_tokens");
  if (prompt.trim() === "")
    return wrong(field("prompt"), msg`${letter}’s prompt is empty. Type at least one character.`);
  if (prompt.length > longest) return wrong(field("prompt"), tooLong(msg`${letter}’s prompt`, prompt, longest));
  const max_new_tokens = numberOf(newTokens, 1, tokens);
  if (max_new_tokens === null)
    return wrong(field("newTokens"), outside(msg`${letter}’s longest answer`, newTokens, 1, tokens));
  const arrives_ms = numberOf(arrives, 0, most);
  if (arrives_ms === null) return wrong(field("arrives"), outside(msg`${letter}’s arrival`, arrives, 0, most));
  const cancel_ms = cancel.trim() === "" ? null : numberOf(cancel, arrives_ms + 1, most);
  if (cancel.trim() !== "" && cancel_ms === null)
    return wrong(field("cancel"), outside(msg`${letter}’s cancellation`, cancel, arrives_ms + 1, most));
  const cancel_tokens = cancelTokens.trim() === "" ? null : numberOf(cancelTokens, 1, tokens);
  if (cancelTokens.trim() !== "" && cancel_tokens === null)
    return wrong(
      field("cancelTokens"),
      outside(msg`${letter}’s tokens before it is cancelled`, cancelTokens, 1, tokens),
    );
  const retry_of = retry === "" ? null : Number(retry);
  if (retry_of !== null && (!(retry_of < at) || !isCancelled(all[retry_of])))
    return wrong(field("retry"), msg`${letter} can be a retry only of an earlier request that is cancelled.`);
  return { prompt, max_new_tokens, arrives_ms, cancel_ms, cancel_tokens, retry_of };
}

/** @param {RequestFields} request  @returns {boolean} whether its client cancels it */
export function isCancelled({ cancel, cancelTokens }) {
  return cancel.trim() !== "" || cancelTokens.trim() !== "";
}

/**
 * @param {{system: string, requests: Object[], rounds: Object[]}} study of a log
 * @param {Fields} before has what a log does not
 * @returns {Fields} the form that would run the same again
 */
export function fieldsOf({ system, requests, rounds: [first] }, before) {
  const text = (value) => (value === null || value === undefined ? "" : String(value));
  const gap =
    requests.length > 1 ? Math.round(requests.at(-1).arrives_ms / (requests.length - 1)) : Number(before.every);
  return {
    ...before,
    ...{
      count: String(requests.length),
      every: String(gap),
      sameSystem: system !== "",
      system: system || before.system,
    },
    settings: asTyped(first, before.settings),
    contiguous: Boolean(first.contiguous),
    reserved: first.contiguous ? String(first.contiguous.new_tokens) : before.reserved,
    lengths: lengthsOf(requests.map(({ prompt }) => prompt)),
    requests: requests.map(({ prompt, max_new_tokens, arrives_ms, cancel_ms, cancel_tokens, retry_of }) => ({
      ...{ prompt, newTokens: text(max_new_tokens), arrives: text(arrives_ms) },
      ...{ cancel: text(cancel_ms), cancelTokens: text(cancel_tokens), retry: text(retry_of) },
    })),
  };
}

/**
 * @param {{field: string|null, detail?: string, message?: string}} refusal of the server
 * @returns {Problem} with the field of the form that it is about; "" if it is about none
 */
export function problemOf({ field, detail, message }) {
  const text = detail || message;
  const [root, at, name, member] = (field ?? "").replaceAll("[", ".").replaceAll("]", "").split(".").filter(Boolean);
  const names = {
    ...{ max_new_tokens: "newTokens", arrives_ms: "arrives", retry_of: "retry" },
    ...{ cancel_ms: "cancel", cancel_tokens: "cancelTokens" },
  };
  if (root === "requests" && at !== undefined) return { field: `requests.${at}.${names[name] ?? "prompt"}`, text };
  if (root === "requests") return { field: "count", text };
  if (root === "system") return { field: "system", text };
  if (root === "rounds" && name === "contiguous") return { field: "reserved", text };
  if (root === "rounds" && name === "draft")
    return { field: member === "layers" ? "draft_layers" : "draft_tokens", text };
  if (root === "rounds") return { field: SETTINGS.some(({ field }) => field === name) ? name : "blocks", text };
  return { field: "", text };
}
