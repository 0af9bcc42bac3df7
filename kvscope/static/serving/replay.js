/**
 * Arrivals from a file, one request per line, as JSON: `arrives_ms`, `max_new_tokens`, and `prompt` or `prompt_tokens`. The names of Mooncake’s
 * traces, which `vllm bench serve` reads too, mean the same: `timestamp`, `output_length`, `input_length`. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";
import { LONG, NEVER_CANCELLED } from "./prompts.js";

/** Estimated, for prompts of which only the length is known. */
export const CHARACTERS_PER_TOKEN = 4.2;
const NAMES = {
  arrives_ms: ["arrives_ms", "timestamp"],
  max_new_tokens: ["max_new_tokens", "output_length"],
  prompt_tokens: ["prompt_tokens", "input_length"],
};

/**
 * @param {string} text of the file
 * @param {{requests: number[], max_new_tokens: number[], arrives_ms: number[], prompt_tokens: number[]}} limits the least and most of each
 * @returns {{requests: Object[], estimated: boolean}|{problem: string}} `estimated`: prompts were made of about the lengths in the file
 */
export function replayOf(text, limits) {
  const lines = text.split("\n").map((line, at) => ({ line: line.trim(), number: at + 1 }));
  const filled = lines.filter(({ line }) => line);
  if (!filled.length) return { problem: msg`The file is empty. Each line must be a request, as JSON.` };
  const most = limits.requests[1];
  if (filled.length > most) {
    const [has, allowed] = [filled.length, most].map(integer);
    return { problem: msg`The file has ${has} requests; at most ${allowed} are sent.` };
  }
  const requests = [];
  let estimated = false;
  for (const { line, number } of filled) {
    const parsed = requestOf(line, limits);
    if ("problem" in parsed) return { problem: msg`Line ${integer(number)}: ${parsed.problem}` };
    estimated ||= parsed.estimated;
    requests.push(parsed.request);
  }
  const first = Math.min(...requests.map(({ arrives_ms }) => arrives_ms));
  return { requests: requests.map((each) => ({ ...each, arrives_ms: each.arrives_ms - first })), estimated };
}

/** @param {string} line */
function requestOf(line, limits) {
  let data;
  try {
    data = JSON.parse(line);
  } catch {
    return { problem: msg`it is not JSON.` };
  }
  if (data === null || typeof data !== "object" || Array.isArray(data)) return { problem: msg`it is not an object.` };
  const [arrives, tokens] = [wholeOf(data, "arrives_ms", limits), wholeOf(data, "max_new_tokens", limits)];
  if ("problem" in arrives) return arrives;
  if ("problem" in tokens) return tokens;
  const request = { arrives_ms: arrives.value, max_new_tokens: tokens.value, ...NEVER_CANCELLED };
  if (typeof data.prompt === "string" && data.prompt)
    return { request: { ...request, prompt: data.prompt }, estimated: false };
  const length = wholeOf(data, "prompt_tokens", limits);
  if ("problem" in length) return length;
  return { request: { ...request, prompt: textOf(length.value) }, estimated: true };
}

/** @returns {{value: number}|{problem: string}} */
function wholeOf(data, name, limits) {
  const used = NAMES[name].find((each) => data[each] !== undefined && data[each] !== null);
  if (!used) return { problem: msg`${name} is missing.` };
  const [least, most] = limits[name];
  const value = data[used];
  if (typeof value !== "number" || !Number.isFinite(value) || value < least || value > most) {
    const [low, high] = [least, most].map(integer);
    return { problem: msg`${used} is ${JSON.stringify(value)}; it must be a number from ${low} to ${high}.` };
  }
  return { value: Math.round(value) };
}

/** @returns {string} a text of about so many tokens */
function textOf(tokens) {
  const characters = Math.max(1, Math.round(tokens * CHARACTERS_PER_TOKEN));
  return LONG.repeat(Math.ceil(characters / LONG.length)).slice(0, characters);
}
