/**
 * Reads {described, texts, prompts, conversations, tokens} on standard input, several of them; writes what the browser's tokenizer makes of
 * each: the ids of texts, of texts without the tokens around them, and of prompts in the chat template; conversations in the template; tokens.
 * What it refuses is {refused}.
 */

import { readFileSync } from "node:fs";
import { Refused } from "../../../../kvscope/static/engine/refused.js";
import { createTokenizer } from "../../../../kvscope/static/engine/text/tokenizer.js";

const asked = JSON.parse(readFileSync(0, "utf-8"));

/** Returns what `act` returns of each, or its refusal. */
const each = (list, act) =>
  (list ?? []).map((one) => {
    try {
      return act(one);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { refused: error.problem };
    }
  });

const answers = asked.map(async ({ described, texts, prompts, conversations, tokens }) => {
  const tokenizer = await createTokenizer(described);
  return {
    ...{ hasChat: tokenizer.hasChat, vocab: tokenizer.vocab, eos: tokenizer.eos },
    ids: each(texts, (text) => tokenizer.encode(text)),
    inside: each(texts, (text) => tokenizer.encode(text, { special: true })),
    chat: each(prompts, tokenizer.encodeChat),
    rendered: each(conversations, tokenizer.chat),
    tokens: each(tokens, tokenizer.token),
  };
});
process.stdout.write(JSON.stringify(await Promise.all(answers)));
