/** The text of each moment of the intro: what happens, and why. Computed from the run alone. Pure. */

import { bytesShort, integer, milliseconds, percent, quoted } from "../../shared/facts/format.js";
import { rowsWithoutCache } from "../../shared/facts/twins.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { phaseFacts } from "../time/facts.js";
import { firstTokensShare, memoryOf } from "./facts.js";

/** @returns {{title: string, more: string}} what happens, and the reason in smaller type */
export function captionOf(moment, { run, look }) {
  return CAPTIONS[moment](run, look);
}

const sentences = (...parts) => parts.filter(Boolean).join(" ");

const CAPTIONS = {
  sentence: (run) => ({
    title: run?.open?.chat
      ? msg`A real language model is about to answer this.`
      : msg`A real language model is about to finish this sentence.`,
    more: msg`Chat assistants run on such models. KVScope shows what the model computes, and why.`,
  }),
  prefill: (run) => ({
    title: prefillTitle(run),
    more: sentences(
      msg`A token is a word or a piece of one.`,
      msg`The whole text is known already, so the model can compute its tokens together.`,
      run.open.chat && msg`The chat template is part of the text.`,
    ),
  }),
  look: (run, look) => {
    const heads = integer(run.layers * run.heads);
    const [token, other] = [look.query, look.key].map((position) => quoted(run.tokens[position]));
    const share = percent(run.weight(look.layer, look.head, look.query, look.key), 0);
    return {
      title: msg`Attention: ${token} looks back at ${other}.`,
      more: sentences(
        plural(
          run.layers * run.heads,
          form`This model has ${heads} attention head. It mixes information from the tokens so far.`,
          form`This model has ${heads} attention heads. Each mixes information from the tokens so far.`,
        ),
        msg`Here, ${share} of the mix for ${token} comes from ${other}.`,
      ),
    };
  },
  choice: (run) => {
    const [title, how] = CHOICES[choiceOf(run)](quoted(run.tokens[run.promptLength]));
    const count = integer(run.open.model.vocab);
    return {
      title,
      more: sentences(
        msg`From the numbers of the last token, the model computes a probability for each of ${count} tokens.`,
        how,
      ),
    };
  },
  cache: () => ({
    title: msg`The model stores a key and a value for each token: the KV cache.`,
    more: sentences(
      msg`Later tokens compare themselves with the keys. The better a key fits, the more of its token’s value goes into the mix.`,
      msg`Nothing else of a token is needed again, so the rest is dropped.`,
    ),
  }),
  decode: ({ tokens, promptLength }) => {
    const token = quoted(tokens[promptLength]);
    return {
      title: msg`Then the model computes only ${token}: decode.`,
      more: msg`The next token depends on ${token}, so it cannot be computed earlier. That is why an answer comes one token at a time.`,
    };
  },
  again: (run) => {
    const token = quoted(run.tokens[run.promptLength + 1]);
    const memory = bytesShort(memoryOf(run).perToken);
    return {
      title: msg`The same for ${token}: each step computes one token.`,
      more: sentences(
        msg`Each token adds ${memory} to the cache. Twice the text needs twice the cache; two such requests need twice as much again.`,
        msg`All requests share one copy of the model.`,
      ),
    };
  },
  pace: (run) => {
    const { rows, msTotal: ms, ...first } = phaseFacts(run, "prefill");
    const later = phaseFacts(run, "decode");
    const [tokens, time, laterTime, each] = [
      integer(rows),
      milliseconds(ms),
      milliseconds(later.msTotal),
      milliseconds(ms / rows),
    ];
    return {
      title: plural(
        rows,
        form`The first step took ${time} for ${tokens} token. A later step took ${laterTime} for one.`,
        form`The first step took ${time} for ${tokens} tokens. A later step took ${laterTime} for one.`,
      ),
      more: sentences(
        first.disturbed || later.disturbed
          ? msg`Other work on the machine disturbed these times.`
          : rows > 1 && msg`The first step took ${each} per token.`,
        passesInWords(run, rows),
      ),
    };
  },
  without: (run) => {
    const { cached, without } = rowsWithoutCache(run);
    const [rows, fewer] = [integer(without), integer(cached)];
    return {
      title: msg`Without the cache: ${rows} rows to compute instead of ${fewer}.`,
      more: sentences(
        msg`Each step would compute all tokens so far again, for the same text.`,
        msg`These numbers are calculated, not measured. Each square is a row: the numbers of one token, through all layers.`,
      ),
    };
  },
};

function prefillTitle(run) {
  const { promptLength, prefillPasses: passes, reused } = run;
  const [tokens, read, computed] = [promptLength, reused, run.prefillRows].map(integer);
  if (reused)
    return plural(
      run.prefillRows,
      form`${read} of ${tokens} tokens are in the cache of an earlier run. The model computes the remaining ${computed} token: prefill.`,
      form`${read} of ${tokens} tokens are in the cache of an earlier run. The model computes the remaining ${computed} tokens: prefill.`,
    );
  if (run.open.parent)
    return plural(
      promptLength,
      form`The run that this one branched from has read the ${tokens} token: prefill.`,
      form`The run that this one branched from has read all ${tokens} tokens: prefill.`,
    );
  if (passes > 1) return msg`The model reads all ${tokens} tokens in ${passes} passes: prefill.`;
  return plural(
    promptLength,
    form`The model reads the ${tokens} token at once: prefill.`,
    form`The model reads all ${tokens} tokens at once: prefill.`,
  );
}

/** What happened and the rule, by the way the token was chosen. */
const CHOICES = {
  greedy: (token) => [
    msg`Next comes ${token}, the most probable token.`,
    msg`This run is set to “greedy”: it always takes the most probable token.`,
  ],
  sample: (token) => [
    msg`Next comes ${token}, sampled at random with these probabilities.`,
    msg`The more probable a token is, the more often it is sampled.`,
  ],
  unknown: (token) => [msg`Next comes ${token}.`, msg`It is not known how it was chosen.`],
  forced: (token) => [
    msg`This branch sets the next token to ${token}.`,
    msg`Somebody chose this token instead of the model.`,
  ],
};

function choiceOf({ steps, open }) {
  return steps[0].data.token.forced ? "forced" : (open.sampling?.strategy ?? "unknown");
}

/** @returns {string} how many passes the steps need; it states no cause of the measured times */
function passesInWords({ prefillPasses: passes }, rows) {
  const tokens = integer(rows);
  if (rows === 1)
    return msg`Each step computes one token in one pass through all weights, the numbers that the model learned.`;
  return sentences(
    passes > 1
      ? msg`The ${tokens} tokens of the first step share ${passes} passes through all weights, the numbers that the model learned.`
      : msg`The ${tokens} tokens of the first step share one pass through all weights, the numbers that the model learned.`,
    msg`Each later token needs a whole pass.`,
  );
}

/** @returns {string} why heads take so much from the first token; "" if they do not */
export function whyFirstToken(run) {
  const firstShare = firstTokensShare(run);
  if (firstShare === null) return "";
  const share = percent(firstShare, 0);
  return msg`Why does the first token get ${share} on average? A head’s shares must add up to 100\u202f%. The usual explanation, not tested here: what it has no use for goes to the first token.`;
}
