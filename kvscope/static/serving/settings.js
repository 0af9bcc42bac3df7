/**
 * Settings of a round that are in the page's form, by their names in the log (docs/frames.md, Serving). For a new one, add an
 * entry here and a value in each preset (workload-form.js): its field, its check, its text and its explanation are made from it.
 */

import { msg, nodes } from "../shared/words/msg.js";

/**
 * @typedef {Object} Setting
 * @property {string} field
 * @property {string} label of its field
 * @property {(field: Object) => any[]} inForm the field with the text around it
 * @property {(value: string) => string} text of a round that had another value; "" is none
 * @property {boolean} [optional] whether the field may be empty, for no limit
 * @property {{id: string, name: string}[]} [choices] the values of a setting that is no number
 * @property {string} why what it is for, a sentence
 * @property {string} inVllm the name of the argument of vLLM that sets the same
 */

/** What requests with the same beginning share. */
const PREFIXES = [
  { id: "tokens", name: msg`token by token` },
  { id: "blocks", name: msg`full blocks, by hash` },
];

/** @type {Setting[]} */
export const SETTINGS = [
  {
    field: "at_once",
    label: msg`Requests at once`,
    inForm: (field) => nodes`Limits: ${field} at once (the batch),`,
    text: (value) => msg`at most ${value} at once`,
    why: msg`Each more request in the batch adds tokens per second, and lengthens the passes of the others.`,
    inVllm: "max_num_seqs",
  },
  {
    field: "chunk",
    label: msg`Prompt tokens of a request per pass`,
    inForm: (field) => nodes`${field} prompt tokens of each request per pass,`,
    text: (value) => msg`prompt tokens of a request per pass: ${value}`,
    why: msg`A long prompt is read in parts, so that other requests get tokens in between.`,
    inVllm: "long_prefill_token_threshold",
  },
  {
    field: "budget",
    label: msg`Token budget of a pass`,
    inForm: (field) => nodes`${field} tokens of all requests per pass (empty: no limit),`,
    text: (value) => (value ? msg`tokens of all requests per pass: at most ${value}` : msg`no token budget`),
    optional: true,
    why: msg`Next tokens come first, and parts of prompts fill the rest of the budget: so no pass has more rows, however many prompts arrive at the same time.`,
    inVllm: "max_num_batched_tokens",
  },
  {
    field: "blocks",
    label: msg`Blocks of memory`,
    inForm: (field) => nodes`${field} blocks of memory.`,
    text: (value) => msg`blocks: at most ${value}`,
    why: msg`The blocks limit how many tokens of all requests have K and V in the cache.`,
    inVllm: "num_gpu_blocks_override",
  },
  {
    field: "prefix",
    label: msg`Sharing of a prefix`,
    inForm: (field) => nodes`Shared: ${field}.`,
    text: (value) => msg`prefixes are shared: ${PREFIXES.find(({ id }) => id === value)?.name ?? value}`,
    choices: PREFIXES,
    why: msg`Full blocks are found by a hash of their tokens and of all before, also after their request has ended or was preempted; token by token, more rows are shared, and the last block is copied before it is written.`,
    inVllm: "enable_prefix_caching",
  },
];

/**
 * Whole numbers of a draft (`draft` in the log); `member`: the member of the request body whose bounds the number has.
 *
 * @typedef {{draft_by: string, draft_tokens: string, draft_layers: string}} DraftFields `draft_by`: "none", "lookup" or "layers"
 */
export const DRAFT_NUMBERS = [
  {
    field: "draft_layers",
    label: msg`Layers that guess`,
    member: "layers",
    from: 1,
    inForm: (field) => nodes`${field} layers guess`,
  },
  {
    field: "draft_tokens",
    label: msg`Tokens guessed per pass`,
    member: "tokens",
    inForm: (field) => nodes`${field} tokens per pass.`,
  },
];

const NO_DRAFT = { draft_by: "none", draft_tokens: "", draft_layers: "" };

/**
 * @param {import("./drafts.js").Draft} draft of a round
 * @param {Object} [before] the texts until now, which stay while nothing guesses
 * @returns {DraftFields}
 */
export function draftFields(draft, { draft_tokens, draft_layers } = NO_DRAFT) {
  if (!draft) return { draft_by: "none", draft_tokens, draft_layers };
  const tokens = String(draft.tokens);
  if (!draft.layers) return { draft_by: "lookup", draft_tokens: tokens, draft_layers };
  return { draft_by: "layers", draft_tokens: tokens, draft_layers: String(draft.layers) };
}

/** @param {Object<string, string>} settings as texts  @returns {string[]} the numbers that this kind of draft needs */
export function draftNumbers({ draft_by }) {
  if (draft_by === "none") return [];
  return draft_by === "layers" ? ["draft_layers", "draft_tokens"] : ["draft_tokens"];
}

/** The other settings of a round that is no part of an experiment. */
export const USUAL = { batching: /** @type {const} */ ("continuous"), sharing: true, reserve: false };
