/**
 * The experiment with agents: each sends its whole conversation again with every request. One only appends to it; the others change
 * something that came before, so that the cache holds less of the next prompt. Rows are counted in the log. Pure.
 */

import { integer, listed, percent } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";
import { MOST_BLOCKS } from "./blocks.js";
import { sumOf } from "./measures.js";
import { CONVERSATION_FILE } from "./own-conversation.js";
import { NEVER_CANCELLED } from "./prompts.js";

/** One request after the other, with space for all of their prompts. */
const SETTINGS = { at_once: 1, chunk: 512, blocks: MOST_BLOCKS, draft: null, sharing: true };
/** Only prompts matter here. */
const TOKENS = 1;
const SHOWN_CHARACTERS = 24;

// Not language: a prompt of the model.
const RULES =
  "You are the agent of a small bookshop. Answer in one short and friendly sentence. Never invent a number: use a tool. Never order more copies than the customer wants.";
// Not language: a prompt of the model.
const TOOLS = [
  "stock(title): how many copies are on the shelf",
  "price(title): what one copy costs",
  "order(title, copies): orders copies, which arrive in two days",
];
// Not language: a prompt of the model.
const TURNS = [
  {
    asks: "Customer: Do you have The Waves, and what does it cost?",
    thinks: "Thought: I need the number of copies on the shelf first, and the price after that.",
    calls: "Call: stock(The Waves)\nResult: 0 copies\nCall: price(The Waves)\nResult: 12 euros",
    says: "Agent: It costs 12 euros, but we have no copy on the shelf.",
  },
  {
    asks: "Customer: Then please order two copies for me.",
    thinks: "Thought: The customer wants two copies, so I order two and no more.",
    calls: "Call: order(The Waves, 2)\nResult: ordered",
    says: "Agent: I have ordered two copies for you.",
  },
];

/**
 * @typedef {Object} Agent
 * @property {string} id
 * @property {string} name what it does between two requests
 * @property {string} sends the beginning of its prompts: agents share no more than the chat template before it
 * @property {(at: number) => string[]} [first] lines before the rules, in its request `at`
 * @property {(at: number) => string[]} [tools] the tools in the order of that request
 * @property {boolean} [forgets] it leaves out the thoughts of earlier turns
 */

/** @type {Agent[]} */
export const AGENTS = [
  { id: "appends", name: msg`only appends`, sends: "Anna." },
  { id: "thoughts", name: msg`drops earlier thinking`, sends: "Bert.", forgets: true },
  { id: "tools", name: msg`lists its tools in another order`, sends: "Carl.", tools: turned },
  { id: "time", name: msg`begins with the time`, sends: "Dora.", first: clock },
];

function clock(at) {
  // Not language: a prompt of the model.
  return [`It is 10:0${at}.`];
}

/** Two requests a turn: what the customer asks, and then the results of the tools. */
const REQUESTS = 2 * TURNS.length;

function turned(at) {
  const from = at % TOOLS.length;
  return [...TOOLS.slice(from), ...TOOLS.slice(0, from)];
}

/** @param {Agent} agent @param {number} at @returns {string} the prompt of its request `at` */
function promptOf({ sends, first, tools, forgets }, at) {
  const turn = Math.floor(at / 2);
  const past = TURNS.slice(0, turn).flatMap(({ asks, thinks, calls, says }) => [
    asks,
    ...(forgets ? [] : [thinks]),
    calls,
    says,
  ]);
  const { asks, thinks, calls } = TURNS[turn];
  const now = at % 2 ? [asks, thinks, calls] : [asks];
  return [sends, ...(first?.(at) ?? []), RULES, ...(tools?.(at) ?? TOOLS), ...past, ...now].join("\n");
}

const PROMPTS = AGENTS.flatMap((agent) => Array.from({ length: REQUESTS }, (_, at) => promptOf(agent, at)));

/** An entry of the list in experiments.js. */
export const CONVERSATION = {
  id: "conversation",
  name: msg`An agent’s conversation`,
  about: msg`An agent sends its whole conversation again with every request: rules, tools, what was said, thoughts, results of tools. Four agents send ${REQUESTS} requests each, with replies that are written beforehand. Which of their habits lose the cache?`,
  setting: "prefix",
  values: [
    { value: "tokens", name: msg`token by token` },
    { value: "blocks", name: msg`full blocks` },
  ],
  file: CONVERSATION_FILE,
  ofFile: isOwn,
  isOf: ({ requests }) => isOwn(requests) || (requests.length === PROMPTS.length && requests[0].prompt === PROMPTS[0]),
  prepare: withPrompts,
  details: agentsOf,
  conclusion: conversationText,
  figures: [
    {
      name: msg`rows computed`,
      of: ({ answers }) => sumOf(answers, ({ rows }) => rows),
      format: integer,
      better: /** @type {const} */ ("less"),
    },
  ],
};

/**
 * @param {{settings: import("./workload-log.js").Settings}} posted of the form
 * @param {Object<string, any>} chosen `file`: what was read of a file (own-conversation.js), null for the agents
 */
function withPrompts({ settings }, { file }) {
  const sent = file?.requests ?? PROMPTS.map((prompt) => ({ prompt }));
  const requests = sent.map((each) => ({ ...each, max_new_tokens: TOKENS, arrives_ms: 0, ...NEVER_CANCELLED }));
  return { system: "", requests, settings: { ...settings, ...SETTINGS } };
}

/**
 * @typedef {Object} Habit what the requests of one agent cost in a round
 * @property {{id: string, name: string}} agent or a request of a file
 * @property {number} sent tokens of its prompts
 * @property {number} computed rows of them that were computed
 * @property {number} cached rows of them that were in the cache
 * @property {{cached: number, computed: number, tokens: number, isFirst: boolean, parts: Parting}[]} requests each one
 *
 * @typedef {{same: string, before: string, after: string}|null} Parting the text before the first difference from the agent's request
 *   before, and how both go on there; null if the prompt only continues it, and of the first
 */

/** @returns {boolean} whether the requests are a conversation of a file */
export function isOwn(requests) {
  return requests.every((each) => each.messages && each.max_new_tokens === TOKENS);
}

/** @returns {Habit[]} one for each agent, or for each request of a file */
function agentsOf(facts) {
  if (!isOwn(facts.requests))
    return AGENTS.map((agent, at) => {
      const places = Array.from({ length: REQUESTS }, (_, each) => at * REQUESTS + each);
      return habitOf(
        agent,
        places.map((place, number) => requestAt(place, number === 0, facts)),
      );
    });
  return facts.requests.map((_, at) => {
    const name = msg`request ${integer(at + 1)}`;
    return habitOf({ id: String(at), name }, [requestAt(at, at === 0, facts)]);
  });
}

function habitOf(agent, requests) {
  const counted = requests.map(({ tokens, cached, computed }) => ({ sent: tokens, cached, computed }));
  return { agent, ...totalOf(counted), requests };
}

/** The template before all prompts is in the cache already when the second agent begins: each begins as with an empty cache. */
function requestAt(place, isFirst, { answers, requests }) {
  const { tokens } = requests[place];
  if (isFirst) return { tokens, isFirst, cached: 0, computed: tokens, parts: null };
  const { shared: cached, rows: computed } = answers[place];
  return { tokens, isFirst, cached, computed, parts: partingOf(requests[place - 1].prompt, requests[place].prompt) };
}

/** @returns {Parting} */
export function partingOf(before, after) {
  if (after.startsWith(before)) return null;
  let at = 0;
  while (before[at] === after[at]) at += 1;
  if (/[\uDC00-\uDFFF]/.test(before[at] ?? "") && at > 0) at -= 1; // the second half of a character
  const shown = (text, from, to) => text.slice(Math.max(0, from), to).replaceAll("\n", "⏎");
  const [was, is] = [before, after].map((text) => shown(text, at, at + SHOWN_CHARACTERS));
  return { same: shown(after, at - SHOWN_CHARACTERS, at), before: was, after: is };
}

/** @returns {{sent: number, cached: number, computed: number}} */
export function totalOf(habits) {
  const [sent, cached, computed] = ["sent", "cached", "computed"].map((what) => sumOf(habits.map((one) => one[what])));
  return { sent, cached, computed };
}

function conversationText(...sides) {
  const [{ requests, details }] = sides;
  if (!isOwn(requests)) return sides.map((side) => habitsText(side.name, side.details)).join(" ");
  return [...sides.map((side) => ownText(side.name, side.details)), changesText(details)].filter(Boolean).join(" ");
}

/** @param {string} round @param {Habit[]} habits one for each request */
function ownText(round, habits) {
  const { sent, cached, computed } = totalOf(habits);
  const [rows, share] = [integer(computed), percent(cached / sent, 0)];
  return msg`Round “${round}”: the requests need ${rows} rows, and ${share} of their tokens are in the cache.`;
}

/** @param {Habit[]} habits one for each request  @returns {string} "" of a single request */
function changesText(habits) {
  if (habits.length === 1) return "";
  const changed = habits.filter(({ requests: [{ parts }] }) => parts).map(({ agent }) => agent.name);
  return changed.length
    ? msg`These change something that the one before had: ${listed(changed)}.`
    : msg`Each request repeats the whole one before.`;
}

/** @param {string} round @param {Habit[]} habits */
function habitsText(round, habits) {
  const [best, worst] = [Math.min, Math.max].map((pick) => pick(...habits.map(({ computed }) => computed)));
  const [least, most] = [best, worst].map((rows) => habits.find(({ computed }) => computed === rows));
  const [few, many] = [least, most].map(({ computed }) => integer(computed));
  const share = percent(least.cached / least.sent, 0);
  return msg`Round “${round}”: the agent that ${least.agent.name} needs ${few} rows, and ${share} of its tokens are in the cache. The one that ${most.agent.name} needs ${many}.`;
}

/**
 * @param {Habit} habit
 * @param {{plain: number, cached: number}} price of a million tokens
 * @returns {number} of a thousand conversations
 */
export function costOf({ computed, cached }, price) {
  return (computed * price.plain + cached * price.cached) / 1000;
}
