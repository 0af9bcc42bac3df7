/** What the intro says in each moment: what happens, and the reason. From the run alone. Pure. */

import { bytesShort, counted, integer, milliseconds, percent, quoted } from "../../shared/facts/format.js";
import { passesInWords } from "../../shared/facts/passes.js";
import { rowsWithoutCache } from "../../shared/facts/twins.js";
import { phaseFacts } from "../time/facts.js";
import { firstTokensShare, memoryOf } from "./facts.js";

/** @returns {{title: string, more: string}} a sentence, and the reason in smaller type */
export function saidOf(moment, { run, look }) {
  return SAID[moment](run, look);
}

const SAID = {
  sentence: (run) => ({
    title: run?.open?.chat
      ? "A real language model is about to answer this."
      : "A real language model is about to finish this sentence.",
    more: "It is the kind of program behind chat assistants. KVScope shows what it computes, and why.",
  }),
  prefill: (run) => ({
    title: `${prefillOf(run)}: prefill.`,
    more: "A token is a word or a piece of one. The whole text is known already, so its tokens can go through together.",
  }),
  look: (run, look) => ({
    title: `Here ${quoted(run.tokens[look.query])} looks back at ${quoted(run.tokens[look.key])}: attention.`,
    more: `For ${quoted(run.tokens[look.query])}, this attention head, one of ${integer(run.layers * run.heads)} small readers in the model, mixes what the tokens so far offer. ${percent(run.weight(look.layer, look.head, look.query, look.key), 0)} of the mix is taken from ${quoted(run.tokens[look.key])}.`,
  }),
  choice: (run) => {
    const [title, how] = CHOICES[choiceOf(run)](quoted(run.tokens[run.promptLength]));
    return {
      title,
      more: `The last column gives each of ${integer(run.open.model.vocab)} known tokens a probability. ${how}`,
    };
  },
  cache: () => ({
    title: "For each token it keeps a key and a value: the KV cache.",
    more: "Later tokens compare themselves with the keys: the better a key fits, the more of its token’s value is mixed in. Nothing else of a token is needed again, so the rest is dropped.",
  }),
  decode: ({ tokens, promptLength }) => ({
    title: `Then only ${quoted(tokens[promptLength])} is computed: decode.`,
    more: `What follows ${quoted(tokens[promptLength])} depends on it, so it cannot be computed sooner. That is why the rest comes one token at a time.`,
  }),
  again: (run) => ({
    title: `Then only ${quoted(run.tokens[run.promptLength + 1])}, in the same way: one token a step.`,
    more: `Each token adds ${bytesShort(memoryOf(run).perToken)} to the cache. Twice the text needs twice the cache; twice the people, twice again. The model itself is needed only once.`,
  }),
  pace: (run) => {
    const { rows, msTotal: ms, ...first } = phaseFacts(run, "prefill");
    const later = phaseFacts(run, "decode");
    const each =
      first.disturbed || later.disturbed
        ? "Other work on the machine disturbed these times."
        : rows > 1 && `The first is ${milliseconds(ms / rows)} a token.`;
    return {
      title: `The first step took ${milliseconds(ms)} for ${counted(rows, "token")}, a later one ${milliseconds(later.msTotal)} for one.`,
      more: [each, passesOf(run, rows)].filter(Boolean).join(" "),
    };
  },
  without: (run) => {
    const rows = rowsWithoutCache(run);
    return {
      title: `Without the cache: ${counted(rows.without, "column")} to compute instead of ${integer(rows.cached)}.`,
      more: "Every step would compute all tokens so far again, for the same text. This is calculated, not measured; a column is one token through all layers.",
    };
  },
};

function prefillOf(run) {
  const { open, promptLength, prefillRows, reused } = run;
  if (reused)
    return `${integer(reused)} of ${integer(promptLength)} tokens are in the cache since an earlier run; it computes ${integer(prefillRows)}`;
  const all = promptLength === 1 ? "the one token" : `all ${integer(promptLength)} tokens ${passesInWords(run)}`;
  return `It reads ${all}${open.chat ? ", the chat template’s too" : ""}`;
}

/** By how it was chosen: what happened, and the rule. */
const CHOICES = {
  greedy: (token) => [
    `Next comes ${token}: the likeliest, not a random pick.`,
    "This run is set to “greedy”: it takes the highest.",
  ],
  sample: (token) => [
    `Next comes ${token}: drawn at random, by these odds.`,
    "The likelier one is, the more often it is drawn.",
  ],
  forced: (token) => [`This branch was given ${token}.`, "A reader chose this one in place of the model."],
};

function choiceOf({ steps, open }) {
  return steps[0].data.token.forced ? "forced" : open.sampling.strategy;
}

/** What the passes did; how long that took is measured, and not explained. */
function passesOf({ prefillPasses, layers }, rows) {
  const weights = `all weights of the ${counted(layers, "layer")}, the model’s learned numbers`;
  if (rows === 1) return `Each computes one token, in a pass through ${weights}.`;
  const shared = prefillPasses > 1 ? `${prefillPasses} passes` : "one pass";
  return `It computes ${integer(rows)} tokens, a later step one. They share ${shared} through ${weights}; a later token needs a whole pass for itself.`;
}

/** @returns {string} why heads take so much from the first token; "" where they do not */
export function whyTheFirst(run) {
  const share = firstTokensShare(run);
  if (share === null) return "";
  return `Why so much from the first token, ${percent(share, 0)} on average? What a head mixes must add up to 100\u202f%; what it has no use for goes there.`;
}
