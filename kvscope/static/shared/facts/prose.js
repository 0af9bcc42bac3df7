/** Tokens as plain text; the bytes of one letter may be in several tokens. Pure. */

import { fromHex, visible } from "./format.js";

/** Invisible characters that change nearby text, except line breaks and the joiner of emoji. */
const HIDDEN = /(?![\n\u200d])[\p{Cc}\p{Cf}]/gu;

/**
 * @param {{bytes: string, special?: boolean}[]} tokens `bytes` in hexadecimal
 * @returns {string[]} the text that each token adds; a letter belongs to the token that completes it, a special token adds nothing
 */
export function proseOf(tokens) {
  const decoder = new TextDecoder();
  return tokens.map(({ bytes, special }, at) => {
    const stream = at < tokens.length - 1;
    return decoder.decode(special ? new Uint8Array() : fromHex(bytes), { stream });
  });
}

/**
 * The prompt and the answer, piece by piece. In a chat the prompt is the typed text, without the chat template.
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

/** @returns {string} the text, with its invisible characters replaced by their codes */
export function readable(text) {
  return text.replace(HIDDEN, visible);
}
