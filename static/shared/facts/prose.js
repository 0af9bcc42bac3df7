/** Tokens as the text that people read: a letter may be spread over the bytes of several tokens. Pure. */

import { fromHex, visible } from "./format.js";

/** What can silently change the text around it, but for line breaks and what joins emoji. */
const HIDDEN = /(?![\n\u200d])[\p{Cc}\p{Cf}]/gu;

/**
 * @param {{bytes: string, special?: boolean}[]} tokens `bytes` in hexadecimal
 * @returns {string[]} what each adds to the text; a letter stands with the token that completes it, a special token adds nothing
 */
export function proseOf(tokens) {
  const decoder = new TextDecoder();
  return tokens.map(({ bytes, special }, at) => {
    const stream = at < tokens.length - 1;
    return decoder.decode(special ? new Uint8Array() : fromHex(bytes), { stream });
  });
}

/**
 * What was asked and what was answered, piece by piece. In a chat the question is what was typed: the template around it is
 * not shown.
 *
 * @param {Object} run
 * @returns {{prompt: {position: number|null, text: string}[], answer: string[]}} `answer`: a piece per step
 */
export function sentenceOf({ open, tokens, promptLength }) {
  const pieces = proseOf(tokens).map(readable);
  const spelled = pieces.slice(0, promptLength).map((text, position) => ({ position, text }));
  return {
    prompt: open.chat ? [{ position: null, text: `${readable(open.prompt)}\n` }] : spelled,
    answer: pieces.slice(promptLength),
  };
}

/** @returns {string} what cannot be seen and would change the text around it, by its code */
export function readable(text) {
  return text.replace(HIDDEN, visible);
}
