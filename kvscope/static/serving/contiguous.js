/**
 * The experiment with and without paging: one unbroken stretch per request, reserved for the longest answer, or blocks as needed. Its
 * sentences count slots, blocks and requests in the log. The first request arrives before the others, so that they find its beginning in
 * the pool. Pure.
 */

import { integer, percent } from "../shared/facts/format.js";
import { requestCount, tokenCount } from "../shared/words/counts.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { blocksOf, sharedBlocks, wasteOver } from "./blocks.js";
import { mostAtOnce, mostBlocks, runningOf } from "./measures.js";
import { letterOf } from "./owners.js";
import { NEVER_CANCELLED } from "./prompts.js";

/** Numbers that the reader can change: tokens reserved for an answer, and the longest limit of a request. */
const CHOICES = [
  { id: "reserved", label: msg`Reserved per answer`, value: 128, least: 8, most: 512, step: 8 },
  { id: "answer", label: msg`Longest answer`, value: 24, least: 4, most: 64, step: 4 },
];
/** The time between the first request and the others: about that of a pass that reads a prompt. */
const OTHERS_ARRIVE_MS = 100;
/** Blocks of the whole workload: so few that requests wait for a free stretch. */
const BLOCKS = 72;
/** A pass reads the whole prompt, or so many tokens of a longer one. */
const WHOLE = 512;
const MOST_AT_ONCE = 16;

/** An entry of the list in experiments.js. */
export const CONTIGUOUS = {
  id: "contiguous",
  name: msg`Reserve the maximum?`,
  about: msg`Reserved: each request gets one unbroken stretch of memory for its prompt and the longest answer, and shares nothing. As needed: blocks anywhere, shared where the beginning is the same (PagedAttention).`,
  setting: "contiguous",
  values: [
    { value: { new_tokens: CHOICES[0].value }, name: msg`reserved` },
    { value: null, name: msg`as needed` },
  ],
  choices: CHOICES,
  nameOf: (value) => (value ? msg`reserved` : msg`as needed`),
  chosen: (value, chosen) => value && { new_tokens: Math.max(chosen.reserved, chosen.answer) },
  prepare: withAnswers,
  conclusion: contiguousResult,
  figures: [
    {
      name: msg`held and empty, on average over the round`,
      of: ({ round, blockSize }) => wasteOver(round, blockSize)?.share ?? null,
      format: (value) => percent(value, 0),
      better: /** @type {const} */ ("less"),
    },
    {
      name: msg`requests at once, at most`,
      of: ({ round }) => mostAtOnce(round),
      format: integer,
      better: /** @type {const} */ ("more"),
    },
    {
      name: msg`blocks held at most`,
      of: ({ round }) => mostBlocks(round),
      format: integer,
      better: /** @type {const} */ ("less"),
    },
    {
      name: msg`requests that waited although enough space was free in total`,
      of: ({ round }) => stretchWaits(round).length,
      format: integer,
      better: /** @type {const} */ ("less"),
    },
  ],
};

/** Scales the answer limits of the requests to the chosen longest one. */
function withAnswers({ system, requests, settings }, chosen) {
  const longest = Math.max(...requests.map(({ max_new_tokens }) => max_new_tokens));
  return {
    system,
    requests: requests.map((request, at) => ({
      ...request,
      max_new_tokens: Math.max(1, Math.round((request.max_new_tokens * chosen.answer) / longest)),
      ...NEVER_CANCELLED,
      arrives_ms: at && OTHERS_ARRIVE_MS,
    })),
    settings: { ...settings, sharing: true, reserve: false, blocks: BLOCKS, chunk: WHOLE, at_once: MOST_AT_ONCE },
  };
}

/** @returns {{request: number, count: number, free: number, longest: number}[]} requests that waited although enough blocks were free */
export function stretchWaits({ passes }) {
  const waits = passes.flatMap(({ events }) => events.filter(({ what, why }) => what === "waits" && why === "stretch"));
  return waits.filter(({ request }, at) => waits.findIndex((other) => other.request === request) === at);
}

/**
 * Adds up what the requests held when they ended, or in the last pass.
 *
 * @returns {{held: number, filled: number}} rows that fit into their blocks, and tokens that were in them
 */
export function heldInAll({ passes }, blockSize) {
  const last = new Map();
  for (const pass of passes)
    for (const { request, table, positions } of runningOf(pass))
      last.set(request, { held: table.length * blockSize, filled: positions });
  const sum = (name) => [...last.values()].reduce((total, each) => total + each[name], 0);
  return { held: sum("held"), filled: sum("filled") };
}

/** @returns {{ids: number[], owners: number[]}|null} the blocks that most requests shared at one time, and these requests */
function mostSharing({ passes }, blockSize) {
  let most = null;
  for (const pass of passes) {
    const cells = blocksOf(pass, blockSize);
    const shared = sharedBlocks(cells);
    if (shared && (!most || shared.requests > most.owners.length))
      most = { ids: shared.ids, owners: cells.get(shared.ids[0]).owners };
  }
  return most;
}

/** @returns {number} how many of these requests held at least `tokens` tokens at the same time, at most */
function mostHolding({ passes }, requests, tokens) {
  const holding = ({ request, positions }) => requests.includes(request) && positions >= tokens;
  return Math.max(0, ...passes.map((pass) => runningOf(pass).filter(holding).length));
}

function contiguousResult(before, after) {
  return [...neverFilled(before), ...fragmented(before), ...storedOnce(before, after), ...refusedIn(before)].join(" ");
}

function neverFilled({ round, answers, blockSize }) {
  const { held, filled } = heldInAll(round, blockSize);
  if (!held) return [];
  const share = percent(1 - filled / held, 0);
  const longest = tokenCount(Math.max(...answers.map(({ outputs }) => outputs.length)));
  return [
    msg`Each request reserved space for an answer of ${tokenCount(round.settings.contiguous.new_tokens)}; the longest answer had ${longest}.`,
    msg`In all, they reserved space for ${tokenCount(held)}.`,
    msg`Space for ${integer(held - filled)} of them (${share}) never held one.`,
  ];
}

function fragmented({ round, blockSize }) {
  const [wait] = stretchWaits(round);
  if (!wait) return [];
  const [needed, free, longest] = [wait.count, wait.free, wait.longest].map((blocks) => integer(blocks * blockSize));
  return [
    msg`${letterOf(wait.request)} waited for space for ${needed} tokens in a row.`,
    msg`Space for ${free} was free, but for at most ${longest} in a row.`,
  ];
}

function storedOnce(before, after) {
  const shared = mostSharing(after.round, after.blockSize);
  if (!shared) return [];
  const tokens = shared.ids.length * after.blockSize;
  const copies = integer(mostHolding(before.round, shared.owners, tokens));
  return [
    msg`As needed, ${requestCount(shared.owners.length)} at once stored their same first ${tokenCount(tokens)} in one copy.`,
    msg`Reserved, up to ${copies} of them at once stored ${copies} copies.`,
  ];
}

function refusedIn({ answers }) {
  const refused = answers.filter(({ end }) => end?.what === "refused").length;
  if (!refused) return [];
  const number = integer(refused);
  return [
    plural(
      refused,
      form`${number} request was refused: its stretch is longer than the memory.`,
      form`${number} requests were refused: their stretches are longer than the memory.`,
    ),
  ];
}
