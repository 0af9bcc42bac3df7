/** Tokens as the text that people read: a letter may be spread over the bytes of several tokens. Pure. */

import { fromHex } from "./format.js";

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
  const pieces = proseOf(tokens);
  const spelled = pieces.slice(0, promptLength).map((text, position) => ({ position, text }));
  return {
    prompt: open.chat ? [{ position: null, text: `${open.prompt}\n` }] : spelled,
    answer: pieces.slice(promptLength),
  };
}
