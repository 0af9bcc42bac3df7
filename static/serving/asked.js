/**
 * What is asked of a workload: each field as it was typed, and what that comes to. Wrong text stays where it was typed, and
 * is told there. Pure.
 */

import { counted, integer } from "../shared/facts/format.js";
import { limitOf } from "../shared/log/limits.js";
import { letterOf } from "./owners.js";
import { arrivalOf, lengthsOf, newTokensOf, promptOf, SYSTEM } from "./prompts.js";
import { SETTINGS, USUAL } from "./settings.js";

/**
 * @typedef {Object} AskedRequest texts, as typed
 * @property {string} prompt
 * @property {string} newTokens
 * @property {string} arrives ms
 * @property {string} cancel ms, "" for never
 * @property {string} retry the place of the request that is asked again, "" for none
 *
 * @typedef {Object} Asked
 * @property {string} people
 * @property {string} every ms
 * @property {import("./prompts.js").Lengths} lengths "own": somebody typed them
 * @property {boolean} sameSystem
 * @property {string} system kept also while it is not used
 * @property {Object<string, string>} settings by field (settings.js)
 * @property {AskedRequest[]} requests
 *
 * @typedef {{field: string, text: string}} Problem
 * @typedef {import("../shared/log/limits.js").Limits} Limits
 */

const WHOLE = /^\d{1,9}$/;

/**
 * @param {number} at
 * @param {{lengths: import("./prompts.js").Lengths, every: number, people: number}} how
 * @returns {AskedRequest}
 */
function nameless(at, { lengths, every, people }) {
  return {
    ...{ prompt: promptOf(lengths, at, people), newTokens: String(newTokensOf(at)) },
    ...{ arrives: String(arrivalOf(at, every)), cancel: "", retry: "" },
  };
}

/** @returns {Object<string, string>} the settings of a round, or more, as texts by field */
function asTyped(settings) {
  return Object.fromEntries(SETTINGS.map(({ field }) => [field, String(settings[field])]));
}

/** @returns {Asked} */
function made({ people, every, lengths, sameSystem = true, change = (requests) => requests, ...settings }) {
  const requests = Array.from({ length: people }, (_, at) => nameless(at, { lengths, every, people }));
  return {
    ...{ people: String(people), every: String(every), lengths, sameSystem, system: SYSTEM },
    ...{ settings: asTyped(settings), requests: change(requests) },
  };
}

/** Whoever gives up does so long before the answer is there, and asks the same again at the end. */
function givesUp(requests) {
  const [quitter, again] = [2, requests.length - 1];
  const quits = Number(requests[quitter].arrives) + 700;
  return requests.map((request, at) => {
    if (at === quitter) return { ...request, newTokens: "24", cancel: String(quits) };
    if (at !== again) return request;
    const { prompt } = requests[quitter];
    return { ...request, prompt, newTokens: "24", arrives: String(quits + 900), retry: String(quitter) };
  });
}

/** What can be asked with one press. */
export const PRESETS = [
  {
    id: "nine",
    name: "Nine people ask",
    asked: () => made({ people: 9, every: 300, lengths: "mixed", at_once: 6, chunk: 128, blocks: 96 }),
  },
  {
    id: "long",
    name: "A long prompt in between",
    asked: () => made({ people: 6, every: 250, lengths: "long", at_once: 6, chunk: 512, blocks: 96 }),
  },
  {
    id: "gives-up",
    name: "Someone gives up and asks again",
    asked: () => made({ people: 6, every: 250, lengths: "short", at_once: 6, chunk: 128, blocks: 96, change: givesUp }),
  },
  {
    id: "little",
    name: "Little memory",
    asked: () =>
      made({ people: 7, every: 150, lengths: "mixed", at_once: 8, chunk: 128, blocks: 20, change: withLongAnswers }),
  },
];

/** So that those who are let in outgrow the memory that there is. */
function withLongAnswers(requests) {
  return requests.map((request) => ({ ...request, newTokens: "24" }));
}

export const FIRST = PRESETS[0].asked();

/** Whole numbers of the sentence: what each is called, and the member of what is posted whose bounds it has. */
const NUMBERS = [
  { field: "people", name: "people", member: "requests" },
  { field: "every", name: "the time between two", member: "arrives_ms" },
  ...SETTINGS.map(({ field, name }) => ({ field, name, member: field })),
];

/** @returns {{least: number, most: number}} */
export function boundsOf(field, limits) {
  const { member } = NUMBERS.find((each) => each.field === field);
  const [least, most] = limitOf(limits, "workload", member);
  return { least, most };
}

/** @returns {string} a field of the sentence as it was typed */
export function typedIn(asked, field) {
  return asked.settings[field] ?? asked[field];
}

/** @returns {number|null} null: no whole number within the bounds */
function numberOf(text, least, most) {
  const value = WHOLE.test(text.trim()) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : null;
}

/**
 * @param {Asked} asked
 * @param {string} field of the sentence
 * @param {*} value as typed
 * @param {Limits} limits
 * @returns {Asked} with it, and the requests that follow from it; where it cannot be used they stay as they were
 */
export function withField(asked, field, value, limits) {
  if (field in asked.settings) return { ...asked, settings: { ...asked.settings, [field]: value } };
  const next = { ...asked, [field]: value };
  if (!["people", "every", "lengths"].includes(field)) return next;
  const numbers = Object.fromEntries(
    ["people", "every"].map((name) => {
      const { least, most } = boundsOf(name, limits);
      return [name, numberOf(next[name], least, most)];
    }),
  );
  if (numbers.people === null || numbers.every === null) return next;
  const { people, every } = numbers;
  return { ...next, requests: followed(next.requests, field, { people, every, lengths: next.lengths }) };
}

function followed(requests, field, { people, every, lengths }) {
  const fresh = Array.from({ length: people }, (_, at) => nameless(at, { lengths, every, people }));
  if (field === "lengths")
    return fresh.map((made, at) => ({ ...(requests[at] ?? made), prompt: made.prompt, retry: "" }));
  if (field === "every") return fresh.map((made, at) => ({ ...(requests[at] ?? made), arrives: made.arrives }));
  return fresh.map((made, at) => requests[at] ?? made);
}

/** @returns {Asked} with one thing of one request as typed */
export function withRequest(asked, at, name, text) {
  const requests = asked.requests.map((request, place) => (place === at ? { ...request, [name]: text } : request));
  return { ...asked, lengths: name === "prompt" ? "own" : asked.lengths, requests };
}

/**
 * @param {Asked} asked
 * @param {Limits} limits
 * @returns {{system: string, requests: Object[], settings: import("../shared/log/workload.js").Settings}|{problem: Problem}} what is
 *   posted, but for its rounds; or what is wrong with the first that cannot be
 */
export function understood(asked, limits) {
  const numbers = {};
  for (const { field, name } of NUMBERS) {
    const { least, most } = boundsOf(field, limits);
    numbers[field] = numberOf(typedIn(asked, field), least, most);
    if (numbers[field] === null) return wrong(field, `${name}: ${outside(typedIn(asked, field), least, most)}`);
  }
  const system = asked.sameSystem ? asked.system : "";
  const [, longest] = limitOf(limits, "workload", "system");
  if (system.length > longest) return wrong("system", `the system prompt: at most ${integer(longest)} characters.`);
  const requests = [];
  for (const [at, request] of asked.requests.entries()) {
    const read = readRequest(request, at, asked.requests, limits);
    if ("problem" in read) return read;
    requests.push(read);
  }
  const settings = /** @type {import("../shared/log/workload.js").Settings} */ ({ ...USUAL });
  for (const { field } of SETTINGS) settings[field] = numbers[field];
  return { system, requests, settings };
}

function wrong(field, text) {
  return { problem: { field, text } };
}

function outside(text, least, most) {
  const shown = text.trim() === "" ? "nothing" : `“${text.trim().slice(0, 20)}”`;
  return `${shown} cannot be used, only whole numbers from ${integer(least)} to ${integer(most)}.`;
}

function readRequest({ prompt, newTokens, arrives, cancel, retry }, at, all, limits) {
  const letter = letterOf(at);
  const field = (name) => `requests.${at}.${name}`;
  const [, most] = limitOf(limits, "workload", "arrives_ms");
  const [, longest] = limitOf(limits, "workload", "prompt");
  const [, tokens] = limitOf(limits, "workload", "max_new_tokens");
  if (prompt.trim() === "") return wrong(field("prompt"), `${letter} asks nothing: type at least one character.`);
  if (prompt.length > longest)
    return wrong(field("prompt"), `${letter} asks too much: at most ${counted(longest, "character")}.`);
  const max_new_tokens = numberOf(newTokens, 1, tokens);
  if (max_new_tokens === null)
    return wrong(field("newTokens"), `${letter}’s new tokens: ${outside(newTokens, 1, tokens)}`);
  const arrives_ms = numberOf(arrives, 0, most);
  if (arrives_ms === null) return wrong(field("arrives"), `when ${letter} asks: ${outside(arrives, 0, most)}`);
  const cancel_ms = cancel.trim() === "" ? null : numberOf(cancel, arrives_ms + 1, most);
  if (cancel.trim() !== "" && cancel_ms === null)
    return wrong(field("cancel"), `when ${letter} gives up: ${outside(cancel, arrives_ms + 1, most)}`);
  const retry_of = retry === "" ? null : Number(retry);
  if (retry_of !== null && (!(retry_of < at) || all[retry_of].cancel.trim() === ""))
    return wrong(field("retry"), `${letter} can only ask again what somebody before it gave up.`);
  return { prompt, max_new_tokens, arrives_ms, cancel_ms, retry_of };
}

/**
 * @param {{system: string, requests: Object[], rounds: Object[]}} study of a log
 * @param {Asked} before what no log says is kept of it
 * @returns {Asked} the same to be asked once more
 */
export function askedOf({ system, requests, rounds: [first] }, before) {
  const text = (value) => (value === null || value === undefined ? "" : String(value));
  const gap =
    requests.length > 1 ? Math.round(requests.at(-1).arrives_ms / (requests.length - 1)) : Number(before.every);
  return {
    ...before,
    ...{
      people: String(requests.length),
      every: String(gap),
      sameSystem: system !== "",
      system: system || before.system,
    },
    settings: asTyped(first),
    lengths: lengthsOf(requests.map(({ prompt }) => prompt)),
    requests: requests.map(({ prompt, max_new_tokens, arrives_ms, cancel_ms, retry_of }) => ({
      ...{ prompt, newTokens: text(max_new_tokens), arrives: text(arrives_ms) },
      ...{ cancel: text(cancel_ms), retry: text(retry_of) },
    })),
  };
}

/**
 * @param {{field: string|null, detail?: string, message?: string}} refusal of the server
 * @returns {Problem} at the field of the page that it is about; field "" where it is about none
 */
export function problemOf({ field, detail, message }) {
  const text = detail || message;
  const [root, at, name] = (field ?? "").replaceAll("[", ".").replaceAll("]", "").split(".").filter(Boolean);
  const names = { max_new_tokens: "newTokens", arrives_ms: "arrives", cancel_ms: "cancel", retry_of: "retry" };
  if (root === "requests" && at !== undefined) return { field: `requests.${at}.${names[name] ?? "prompt"}`, text };
  if (root === "requests") return { field: "people", text };
  if (root === "system") return { field: "system", text };
  if (root === "rounds") return { field: SETTINGS.some(({ field }) => field === name) ? name : "blocks", text };
  return { field: "", text };
}
