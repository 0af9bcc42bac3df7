/**
 * The experiment with layers split over two engines: one engine has all layers, or two have half of them each, with one batch or two that
 * take turns. Its sentences count bytes and idle time in the log. Pure.
 */

import { bytesShort, fixed, integer, percent } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";
import { firstTokens, lanesOfEngines, ON_BLOCKS, rowsMoved } from "./engines.js";
import { doneMs, mean, tokensPerSecond } from "./measures.js";
import { NEVER_CANCELLED, promptOf } from "./prompts.js";
import { wholeMs } from "./whole-ms.js";

const REQUESTS = 8;
const TOKENS = 24;
const SETTINGS = { at_once: REQUESTS, chunk: 128, blocks: 64, ...ON_BLOCKS };
const ROUNDS = [
  { value: { count: 1, route: "turns", prefill: 0, stages: 1 }, name: msg`one engine` },
  { value: { count: 1, route: "turns", prefill: 0, stages: 2 }, name: msg`two halves, one batch` },
  { value: { count: 2, route: "turns", prefill: 0, stages: 2 }, name: msg`two halves, two batches` },
];

/** An entry of the list in experiments.js. */
export const PIPELINE = {
  id: "pipeline",
  name: msg`Layers on two engines`,
  about: msg`${REQUESTS} requests arrive at once. One engine computes all layers; or two compute half of them each, and the rows move from one to the other after half of the layers (pipeline parallelism). With one batch, each engine waits for the other; two batches take turns.`,
  setting: "engines",
  values: ROUNDS,
  isOf: ({ rounds }) => rounds.some(({ engines }) => engines?.stages > 1),
  nameOf: (value) =>
    ROUNDS.find(({ value: each }) => each.count === value?.count && each.stages === value?.stages)?.name ?? "",
  asInForm: true,
  prepare: ({ settings }) => ({
    system: "",
    requests: Array.from({ length: REQUESTS }, (_, at) => ({
      ...{ prompt: promptOf("short", at, REQUESTS), max_new_tokens: TOKENS, arrives_ms: 0 },
      ...NEVER_CANCELLED,
    })),
    settings: { ...settings, ...SETTINGS },
  }),
  details: () => ({}),
  conclusion: (...sides) => sides.map(sentence).join(" "),
  figures: [
    {
      name: msg`tokens per second`,
      of: ({ round }) => tokensPerSecond(round),
      format: (value) => fixed(value, 1),
      better: /** @type {const} */ ("more"),
      timed: true,
    },
    {
      name: msg`until all are done`,
      of: ({ round }) => doneMs(round),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    {
      name: msg`time to first token, on average`,
      of: (side) => mean(firstTokens(side)),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    {
      name: msg`idle: share of the time in which an engine waits, on average`,
      of: ({ round }) => mean(lanesOfEngines(round).map(({ busy }) => 1 - busy)),
      format: (share) => percent(share, 0),
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    {
      name: msg`bytes of rows moved between the halves`,
      of: ({ round }) => rowsMoved(round).bytes,
      format: bytesShort,
      better: /** @type {const} */ ("less"),
    },
  ],
};

/** The formula is of float32: 4 bytes for each number of a row. */
function sentence({ name, round, model }) {
  const idle = lanesOfEngines(round).map(({ busy }) => percent(1 - busy, 0));
  if (idle.length < 2) return msg`Round “${name}”: idle ${idle[0]} of the time.`;
  const { rows, bytes, ms } = rowsMoved(round);
  const sign = bytes === rows * model.d * 4 ? "=" : "≠";
  const [count, all, took] = [integer(rows), integer(bytes), fixed(ms, 1)];
  return msg`Round “${name}”: the first half was idle ${idle[0]} of the time, the second ${idle[1]}. Moved: ${count} rows × ${model.d} numbers × 4 bytes ${sign} ${all} bytes, in ${took} ms.`;
}
