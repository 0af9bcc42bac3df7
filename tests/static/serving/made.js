/** A small workload written by hand: three people, blocks of four rows, two rounds. */

import { Workload } from "../../../kvscope/static/serving/workload-log.js";
import { token } from "../support/wire.js";

export const SETTINGS = {
  batching: "continuous",
  at_once: 2,
  chunk: 8,
  sharing: true,
  reserve: false,
  blocks: 6,
  draft: null,
  keep: null,
  contiguous: null,
  budget: null,
  prefix: "tokens",
};
/** A and B begin with the same four tokens; C gives up while it waits. */
export const REQUESTS = [
  { prompt: "a", tokens: 5, max_new_tokens: 3, arrives_ms: 0, cancel_ms: null, cancel_tokens: null, retry_of: null },
  { prompt: "b", tokens: 6, max_new_tokens: 2, arrives_ms: 8, cancel_ms: null, cancel_tokens: null, retry_of: null },
  { prompt: "c", tokens: 4, max_new_tokens: 2, arrives_ms: 15, cancel_ms: 28, cancel_tokens: null, retry_of: null },
];
export const BLOCK_SIZE = 4;

const state = (name, positions = 0, table = []) => ({ state: name, positions, dropped: 0, table });
const NO_GUESSES = { more: [], guessed: 0 };
const prefill = (request, first, rows, out = null) => ({
  ...{ request, phase: "prefill", first, rows, token: out },
  ...NO_GUESSES,
});
const decode = (request, first, out) => ({ request, phase: "decode", first, rows: 1, token: out, ...NO_GUESSES });
const event = (ms, what, request, more = {}) => ({ ms, what, request, count: null, other: null, ...more });
const ALONE = { requests: 0, rows: 0 };
const POOL = { blocks: 16, others: [9], slots: null, region: null };

/** @returns {Object[]} `data` of a round's passes, the first of number `from` */
function passes(round, from, slower = 1) {
  const made = [
    {
      start_ms: 0,
      ms: 10,
      members: [prefill(0, 0, 5, token(" x", 1))],
      others: ALONE,
      requests: [state("running", 5, [0, 1]), state("waiting"), state("coming")],
      events: [
        event(0, "arrived", 0),
        event(0, "joined", 0, { count: 5 }),
        event(8, "arrived", 1),
        event(10, "first", 0),
      ],
    },
    {
      start_ms: 10,
      ms: 20,
      members: [decode(0, 5, token(" y", 2)), prefill(1, 4, 2, token(" z", 3))],
      others: { requests: 1, rows: 3 },
      requests: [state("running", 6, [0, 1]), state("running", 6, [0, 2]), state("cancelled")],
      events: [
        event(10, "joined", 1, { count: 6 }),
        event(10, "shared", 1, { count: 4, other: 0 }),
        event(15, "arrived", 2),
        event(28, "cancelled", 2),
        event(30, "first", 1),
      ],
    },
    {
      start_ms: 30,
      ms: 10,
      members: [decode(0, 6, token(" w", 4)), decode(1, 6, token(" v", 5))],
      others: ALONE,
      requests: [state("done", 7, [0, 1]), state("done", 7, [0, 2]), state("cancelled")],
      events: [event(40, "done", 0), event(40, "done", 1)],
    },
  ];
  return made.map((pass, at) => ({
    ...pass,
    number: from + at,
    round,
    weight_bytes: 1000,
    weights_read: { float32: 1000 },
    draft: null,
    conditions: null,
    pool: POOL,
    start_ms: pass.start_ms * slower,
    ms: pass.ms * slower,
    events: pass.events.map((each) => ({ ...each, ms: each.ms * slower })),
  }));
}

/** @returns {Object[]} frames of a workload with these rounds; each further one takes twice as long as the one before */
export function framesOf(rounds = [SETTINGS]) {
  const open = {
    model: { layers: 2 },
    block_size: BLOCK_SIZE,
    study: { kind: "serving", system: "", requests: REQUESTS, rounds },
  };
  const served = rounds.flatMap((_, round) => [
    ...passes(round, round * 3, 2 ** round).map((data) => ({ kind: "pass", data })),
    { kind: "round", data: { round, ms: 41 * 2 ** round, others: 1, events: [] } },
  ]);
  return [
    { kind: "open", data: open },
    ...served,
    { kind: "close", data: { reason: "length", error: null, steps: 0 } },
  ].map((frame, seq) => ({ ...frame, seq, run: "w1" }));
}

/** @returns {Workload} */
export function folded(frames = framesOf()) {
  const log = new Workload("w1");
  for (const frame of frames) log.push(structuredClone(frame));
  return log;
}
