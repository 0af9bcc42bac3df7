/** Reads the picture of a gallery card (docs/sessions.md). Pure. */

import { msg } from "../words/msg.js";
import { integer, percent } from "./format.js";

/** A card shows this many tokens: the last ones of a longer text. */
const MOST_TOKENS = 30;
/** A card shows this many requests. */
const MOST_PROMPTS = 4;
/** A shade where words are still easy to read over it. */
const FULL = 255;

/**
 * @param {{shades: string}} picture base64 of the head's rows, row q with q + 1 keys
 * @returns {Uint8Array[]} companded weights by query
 */
export function rowsOf({ shades }) {
  const bytes = Uint8Array.from(atob(shades), (character) => character.charCodeAt(0));
  const rows = [];
  for (let at = 0; at < bytes.length; at += rows.length) rows.push(bytes.subarray(at, at + rows.length + 1));
  return rows;
}

/**
 * Returns the text of the run, and the role of each token in the picture.
 *
 * @returns {{text: string, shade: number|null, role: "query"|"key"|null}[]} `shade` 0…255: the attention of the opening
 *   query to the token, or the token's probability; null if the picture has neither
 */
export function textOf(picture) {
  if (picture.kind === "lanes") return promptsOf(picture);
  const { tokens } = picture;
  const all = picture.kind === "attention" ? lookedAt(picture) : likely(picture);
  const cut = Math.max(0, tokens.length - MOST_TOKENS);
  const pieces = all.slice(cut).map((token) => ({ ...token, text: token.text.replaceAll("\n", "⏎") }));
  return cut ? [{ text: "… ", shade: null, role: null }, ...pieces] : pieces;
}

/** Returns the shortest prompts, each in quotation marks. */
function promptsOf({ lanes }) {
  const shortest = lanes.map(({ prompt }) => prompt.replaceAll("\n", " ")).sort((a, b) => a.length - b.length);
  return shortest.slice(0, MOST_PROMPTS).map((prompt) => ({ text: `“${prompt}” `, shade: null, role: null }));
}

function lookedAt(picture) {
  const { tokens, key } = picture;
  const row = rowsOf(picture).at(-1);
  const query = tokens.length - 1;
  return tokens.map((text, at) => ({ text, shade: row[at], role: at === query ? "query" : at === key ? "key" : null }));
}

function likely({ tokens, prompt, shares }) {
  return tokens.map((text, at) => ({
    text,
    shade: at < prompt ? null : Math.round(FULL * Math.sqrt(shares[at - prompt])),
    role: null,
  }));
}

/** @returns {string} the picture in a sentence, for screen readers */
export function pictureInWords(picture) {
  if (picture.kind === "lanes") {
    const { lanes, ends } = picture;
    return msg`One lane for each of ${lanes.length} requests. They arrived one after another; the last one finished after ${integer(ends)} ms.`;
  }
  if (picture.kind === "chances") {
    const [low, high] = [percent(Math.min(...picture.shares)), percent(Math.max(...picture.shares))];
    const [least, most] = [percent(Math.min(...picture.most)), percent(Math.max(...picture.most))];
    return msg`One bar for each sampled token. Their probabilities are between ${low} and ${high}, those of the most likely tokens between ${least} and ${most}.`;
  }
  const { tokens, key } = picture;
  const weight = (rowsOf(picture).at(-1)[key] / FULL) ** 2;
  const [query, target] = [tokens.at(-1).trim(), tokens[key].trim()];
  return msg`Attention of one head, token by token: “${query}” puts ${percent(weight, 0)} on “${target}”.`;
}
