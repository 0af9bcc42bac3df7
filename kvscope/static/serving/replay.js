/**
 * Arrivals from a file, one request per line, as JSON: `arrives_ms`, `max_new_tokens`, and `prompt` or `prompt_tokens`. The names of Mooncake’s
 * traces, which `vllm bench serve` reads too, mean the same: `timestamp`, `output_length`, `input_length`. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { limitOf } from "../shared/log/limits.js";
import { requestCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { CHARACTERS_PER_TOKEN, LONG, NEVER_CANCELLED } from "./prompts.js";
import { isProblem, requestsIn } from "./request-file.js";

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
  const read = requestsIn(text, limits.requests[1], (data) => requestOf(data, limits));
  if (isProblem(read)) return read;
  const first = Math.min(...read.map(({ request }) => request.arrives_ms));
  return {
    requests: read.map(({ request }) => ({ ...request, arrives_ms: request.arrives_ms - first })),
    estimated: read.some(({ estimated }) => estimated),
  };
}

/** @type {import("./request-file.js").FileKind} */
export const REPLAY_FILE = {
  choose: msg`Replay a file of requests`,
  back: msg`Random arrivals again`,
  format: msg`One request per line, as JSON: arrives_ms, max_new_tokens, and prompt or prompt_tokens (or timestamp, output_length, input_length).`,
  read: (text, limits) => replayOf(text, limitsOf(limits)),
  says: ({ requests, estimated }, name) =>
    [
      msg`${requestCount(requests.length)} of ${name}, in place of random ones.`,
      estimated && msg`Its prompts have about the lengths of the file (estimated).`,
    ]
      .filter(Boolean)
      .join(" "),
};

function limitsOf(limits) {
  const of = (member) => limitOf(limits, "workload", member);
  return {
    ...{ requests: of("requests"), max_new_tokens: of("max_new_tokens"), arrives_ms: of("arrives_ms") },
    prompt_tokens: of("prompt").map((characters) => Math.ceil(characters / CHARACTERS_PER_TOKEN)),
  };
}

function requestOf(data, limits) {
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
