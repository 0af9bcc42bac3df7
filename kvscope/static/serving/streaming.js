/**
 * The experiment with streaming: one request, whose tokens this page gets one by one. The same round shows how long a client
 * waits that asks for the whole answer. Pure.
 */

import { milliseconds } from "../shared/facts/format.js";
import { median } from "../shared/facts/median.js";
import { tokenCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { firstTokenMs, waitsOf } from "./measures.js";
import { wholeMs } from "./whole-ms.js";

const TOKENS = 48;
// Not language: a prompt of the model.
const PROMPT = "Tell me a long story about a lighthouse keeper who was afraid of the dark.";
/** Frames that arrived in less than this share of the round's duration were read from the store, not live. */
const LIVE_SHARE = 0.5;

const less = /** @type {const} */ ("less");

/** An entry of the list in experiments.js. */
export const STREAMING = {
  id: "streaming",
  name: msg`Streaming`,
  about: msg`One request of up to ${TOKENS} tokens. A client that streams shows each token when it is there. One that waits for the whole answer shows nothing until the last.`,
  setting: "at_once",
  alone: true,
  isOf: ({ rounds, requests }) => rounds.length === 1 && requests.length === 1 && requests[0].prompt === PROMPT,
  values: [{ value: 1, name: msg`one request` }],
  prepare: ({ settings }) => ({
    system: "",
    requests: [{ prompt: PROMPT, max_new_tokens: TOKENS, arrives_ms: 0, cancel_ms: null, retry_of: null }],
    settings: { ...settings, draft: null, blocks: 96 },
  }),
  conclusion: ({ answers }) => {
    const [answer] = answers;
    const { outputs, arrived } = answer;
    if (outputs.length < 2)
      return msg`The answer has only ${tokenCount(outputs.length)}, so there is nothing to stream.`;
    const [first, last] = [wholeMs(firstTokenMs(answer)), wholeMs(outputs.at(-1).ms - arrived)];
    return msg`Streaming shows the first token after ${first}. A client that waits for the whole answer sees nothing for ${last}: the same work, the same ${tokenCount(outputs.length)}.`;
  },
  figures: [
    {
      name: msg`first token, with streaming`,
      of: ({ answers }) => firstTokenMs(answers[0]),
      format: wholeMs,
      better: less,
      timed: true,
    },
    { name: msg`whole answer, without`, of: wholeAnswer, format: wholeMs, better: less, timed: true },
    {
      name: msg`between two tokens, in the engine (median)`,
      of: (facts) => middle(engineGaps(facts)),
      format: milliseconds,
      better: less,
      timed: true,
    },
    {
      name: msg`the longest`,
      of: (facts) => longest(engineGaps(facts)),
      format: milliseconds,
      better: less,
      timed: true,
    },
    {
      name: msg`between two tokens, as they reached this page (median)`,
      of: (facts) => middle(pageGaps(facts)),
      format: milliseconds,
      better: less,
      timed: true,
    },
    {
      name: msg`the longest`,
      of: (facts) => longest(pageGaps(facts)),
      format: milliseconds,
      better: less,
      timed: true,
    },
  ],
  missing: msg`A dash: this page did not watch the round while it ran.`,
};

function wholeAnswer({ answers }) {
  const [{ outputs, arrived }] = answers;
  return outputs.length ? outputs.at(-1).ms - arrived : null;
}

function engineGaps({ answers }) {
  return waitsOf(answers[0]).map((wait) => wait.ms);
}

/** Returns nothing if the frames came from the store. `received`: ms at which the page got each pass, by number. */
function pageGaps({ answers, received }) {
  const [answer] = answers;
  const times = answer.outputs.map(({ pass }) => received?.[pass]);
  if (times.length < 2 || times.some((each) => each === undefined)) return [];
  const took = answer.outputs.at(-1).ms - answer.outputs[0].ms;
  if (times.at(-1) - times[0] < LIVE_SHARE * took) return [];
  return times.slice(1).map((time, at) => time - times[at]);
}

function middle(gaps) {
  return gaps.length ? median(gaps) : null;
}

function longest(gaps) {
  return gaps.length ? Math.max(...gaps) : null;
}
