/** A workload on two engines, written by hand: the first reads the prompt of A, the second decodes A and serves B alone. */

import { token } from "../support/wire.js";
import { REQUESTS, SETTINGS } from "./made.js";

export const MODEL = { layers: 2, kv_heads: 3, head_dim: 8 };
export const BLOCK_SIZE = 4;
/** Bytes of a block of that model: K and V × layers × KV heads × numbers × bytes × tokens. */
export const BLOCK_BYTES = 2 * 2 * 3 * 8 * 4 * 4;

const member = (request, phase, first, rows, out = null) => ({
  request,
  phase,
  first,
  rows,
  token: out,
  more: [],
  guessed: 0,
});
const event = (ms, what, request, more = {}) => ({ ms, what, request, count: null, other: null, ...more });
const [A, B] = [0, 1];

const PASSES = [
  {
    engine: 0,
    start_ms: 0,
    ms: 40,
    members: [member(A, "prefill", 0, 9, token(" x", 1))],
    events: [event(0, "arrived", A), event(0, "joined", A, { count: 9 }), event(40, "first", A)],
  },
  {
    engine: 1,
    start_ms: 8,
    ms: 12,
    members: [member(B, "prefill", 0, 6, token(" y", 2))],
    events: [event(8, "arrived", B), event(8, "joined", B, { count: 6 }), event(20, "first", B)],
  },
  {
    engine: 1,
    start_ms: 45,
    ms: 5,
    members: [member(A, "prefill", 8, 2, token(" z", 3)), member(B, "decode", 6, 1, token(" w", 4))],
    events: [
      event(41, "moved", A, { count: 2, bytes: 2 * BLOCK_BYTES, took_ms: 1.5 }),
      event(45, "joined", A, { count: 10 }),
      event(45, "shared", A, { count: 8, other: A }),
      event(50, "done", A),
      event(50, "done", B),
    ],
  },
];

const REST = {
  ...{ weight_bytes: 1000, weights_read: { float32: 1000 }, draft: null, conditions: null },
  ...{ others: { requests: 0, rows: 0 }, requests: [], pool: { blocks: 6, others: [], slots: null, region: null } },
};

/** @returns {Object[]} frames of a workload that served the same in each of these rounds */
export function framesOn(rounds, more = () => []) {
  const requests = REQUESTS.slice(0, 2).map((each, at) => ({ ...each, tokens: [9, 6][at], max_new_tokens: 2 }));
  const settings = { ...SETTINGS, sharing: true, prefix: "blocks" };
  const study = { kind: "serving", system: "", requests, rounds: rounds.map((each) => ({ ...settings, ...each })) };
  const served = rounds.flatMap((_, round) => [
    ...PASSES.map((pass, at) => ({
      kind: "pass",
      data: {
        ...REST,
        ...pass,
        number: round * PASSES.length + at,
        round,
        events: [...pass.events, ...(at === 0 ? more(round) : [])],
      },
    })),
    { kind: "round", data: { round, ms: 50, others: 0, events: [] } },
  ]);
  const close = { kind: "close", data: { reason: "length", error: null, steps: 0 } };
  return [{ kind: "open", data: { model: MODEL, block_size: BLOCK_SIZE, study } }, ...served, close].map(
    (frame, seq) => ({ ...frame, seq, run: "w1" }),
  );
}
