/** Converts text to token ids and back, as kvscope/model/checkpoint/tokenizer.py. */

import { hex } from "../../shared/log/hex.js";
import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { createChat } from "./chat.js";
import { createJoining } from "./joining.js";
import { tokenizers } from "./libraries.js";
import { BYTES_OF } from "./names.js";

const LONGEST_NAME = 80;
const UTF8 = new TextEncoder();
const LENIENT = new TextDecoder("utf-8", { ignoreBOM: true });
const STRICT = new TextDecoder("utf-8", { fatal: true });

/**
 * Makes the tokenizer of a model. As in `transformers`, a string such as `<|im_end|>` becomes its special token.
 *
 * @param {Object} described by kvscope/model/checkpoint/packed_tokenizer.py
 */
export async function createTokenizer(described) {
  const { names, around, eos, rows } = described;
  const inner = await innerOf(described);
  const { hasChat, chat } = await createChat(described.chat);
  const special = new Map(described.added.map((token) => [token.id, token.special]));
  const bytesOf = BYTES_OF[described.bytes];

  /** @returns {Uint8Array} a token's bytes, which alone may not be valid UTF-8; empty for an id without a name */
  const bytes = (id) => {
    const name = names[id];
    if (name === undefined || name === null) return new Uint8Array();
    const own = bytesOf(name);
    return !special.has(id) || own.length === 1 || isText(own) ? own : UTF8.encode(name);
  };

  /**
   * @param {string} text
   * @param {{special?: boolean, field?: string}} [options] special: the text has the tokens that belong around it, like the result of
   *   `chat`; field: what a refusal names
   * @returns {number[]} the text's ids
   * @throws {Refused}
   */
  const encode = (text, { special: whole = false, field = "prompt" } = {}) => {
    if (!text.isWellFormed())
      throw new Refused(400, msg`${field} is not valid Unicode: it contains half of a surrogate pair.`, { field });
    const { ids: own } = inner.encode(text);
    const ids = whole ? own : [...around.first, ...own, ...around.last];
    const beyond = ids.find((id) => id >= rows);
    if (beyond !== undefined) {
      const token = `'${nameOf(beyond)}' (id ${grouped(beyond)})`;
      const why = msg`this model has no embedding: its embedding table has ${grouped(rows)} rows. Remove it.`;
      throw new Refused(422, msg`${field} has the token ${token}, for which ${why}`, { field, limit: rows - 1 });
    }
    return ids;
  };

  const nameOf = (id) =>
    Array.from(textOf(bytes(id)))
      .slice(0, LONGEST_NAME)
      .join("");

  return {
    eos,
    hasChat,
    chat,
    encode,
    bytes,
    /** How many ids have a name; the model's embedding may have more rows. */
    vocab: names.filter((name) => name !== null).length,
    /** @returns {number[]} the ids of a prompt in the model's chat template  @throws {Refused} */
    encodeChat: (prompt) => encode(chat([{ role: "user", content: prompt }]), { special: true }),
    /** @returns {{id: number, text: string, bytes: string, special: boolean}} as docs/frames.md describes */
    token(id) {
      const own = bytes(id);
      return { id, text: textOf(own), bytes: hex(own), special: special.get(id) ?? false };
    },
    /** @returns {string} the text of the ids' joined bytes, with special tokens; U+FFFD for bytes that are not UTF-8 */
    decode: (ids) => textOf(Uint8Array.from(ids.flatMap((id) => [...bytes(id)]))),
  };
}

/** Returns the library's tokenizer. */
async function innerOf({ names, added, normalizers, pre_tokenizers: steps, merges, scores, ...described }) {
  const { Tokenizer } = await tokenizers();
  const ids = Object.fromEntries(names.map((name, id) => [name, id]).filter(([name]) => name !== null));
  const model = {
    type: "BPE",
    vocab: ids,
    merges,
    // Pieces that `createJoining` returns are tokens, and not joined further.
    ignore_merges: described.ignore_merges || scores !== null,
    byte_fallback: described.bytes === "byte_fallback",
  };
  const rules = {
    added_tokens: added,
    normalizer: { type: "Sequence", normalizers },
    pre_tokenizer: steps.length ? { type: "Sequence", pretokenizers: steps } : null,
    model,
    ...{ post_processor: null, decoder: null },
  };
  const inner = new Tokenizer(rules, {});
  if (scores) {
    const joined = names.flatMap((name, id) => (scores[id] === null ? [] : [[name, scores[id]]]));
    inner.pre_tokenizer = /** @type {any} */ (createJoining(new Map(joined)));
  }
  return inner;
}

const textOf = (bytes) => LENIENT.decode(bytes);

function isText(bytes) {
  try {
    STRICT.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Returns a number as the server's messages have it: 49,152. */
const grouped = (number) => number.toLocaleString("en-US");
