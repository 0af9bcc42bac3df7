/**
 * Describes the tokenizer of a GGUF file as kvscope/model/checkpoint/packed_tokenizer.py does, by the rules of gguf_tokenizer.py. Pure.
 */

import { msg } from "../../shared/words/msg.js";
import { BYTE_NAMES } from "../text/names.js";
import { damaged, unknown } from "./refusal.js";

const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, , BYTE] = [1, 2, 3, 4, 5, 6];
const SPACE = "▁";
const ASKED = "Hello";
/** What llama.cpp assumes of a SentencePiece vocabulary that does not say. */
const SENTENCEPIECE_IDS = { bos: 1, eos: 2, unknown: 0 };
const NO_CHAT = msg`This model has no chat template. Without chat, a plain prompt works.`;

/**
 * @param {Object<string, any>} metadata
 * @param {number} rows of the model's embedding
 * @param {Object} facts `tokenizer` of kvscope/model/service/gguf_facts.py
 * @returns {Object}  @throws {import("../refused.js").Refused}
 */
export function tokenizerOf(metadata, rows, facts) {
  const field = (name) => metadata[`tokenizer.ggml.${name}`];
  const model = field("model");
  if (model !== "gpt2" && model !== "llama")
    unknown(
      msg`Its tokenizer is of the type ${String(model)}; this page knows gpt2 (byte-level BPE) and llama (SentencePiece)`,
    );
  const names = namesOf(field("tokens"), rows);
  const isByteLevel = model === "gpt2";
  const pre = field("pre") ?? "default";
  const rules = isByteLevel ? byteLevel(names, field("merges"), pre, facts) : sentencePiece(names, field);
  const id = (name) => field(`${name}_token_id`) ?? (isByteLevel ? undefined : SENTENCEPIECE_IDS[name]);
  const named = Object.fromEntries(
    facts.names.flatMap(([name, own]) => (names[id(own)] === undefined ? [] : [[`${name}_token`, names[id(own)]]])),
  );
  const around = (name, assumed) => {
    if (!(field(`add_${name}_token`) ?? assumed)) return [];
    if (!(`${name}_token` in named)) damaged(msg`It puts a token around each text that it does not have`);
    return [id(name)];
  };
  const ends = namedEnds(names, field, facts);
  const declared = ["eos", "eot", "eom"].map(id);
  return {
    names,
    ...rules,
    added: addedOf(names, field("token_type"), ends),
    around: { first: around("bos", !isByteLevel || facts.beginning.includes(pre)), last: around("eos", false) },
    chat: chatOf(metadata["tokenizer.chat_template"], named),
    eos: names.flatMap((name, number) => (ends.has(name) || declared.includes(number) ? [number] : [])),
    rows,
  };
}

/** llama.cpp gives an empty token a name, too. */
function namesOf(tokens, rows) {
  if (!Array.isArray(tokens)) damaged(msg`It is incomplete: it has no vocabulary`);
  const names = tokens.map((name, number) => name || `[EMPTY_${number}]`);
  if (names.length !== rows)
    damaged(msg`It contradicts itself: it has ${names.length} tokens and an embedding of ${rows} rows`);
  if (new Set(names).size !== names.length) damaged(msg`It is corrupted: a token is in its vocabulary twice`);
  return names;
}

function byteLevel(names, merges, pre, { splits, pre: rules, whole_words: wholeWords }) {
  const vocabulary = new Set(names);
  if (rules[pre] === undefined) unknown(msg`Its tokenizer splits words in a way that this page does not know, ${pre}`);
  const areTokens = (merge) => {
    const at = merge.indexOf(" ", 1);
    const [left, right] = [merge.slice(0, at), merge.slice(at + 1)];
    return at > 0 && [left, right, left + right].every((name) => vocabulary.has(name));
  };
  if (!merges?.every(areTokens)) damaged(msg`It is corrupted: its merges do not fit its vocabulary`);
  const missing = BYTE_NAMES.filter((name) => !vocabulary.has(name));
  const joinsWords = !wholeWords.includes(pre);
  if (missing.length && !joinsWords) unknown(msg`Its vocabulary has no tokens for ${missing.length} of the 256 bytes`);
  const pattern = missing.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  return {
    bytes: "byte_level",
    normalizers: pre === "qwen2" ? [{ type: "NFC" }] : [],
    pre_tokenizers: [
      ...splits[rules[pre]],
      ...(missing.length ? [{ type: "Replace", pattern: { Regex: pattern }, content: "" }] : []),
    ],
    merges,
    ignore_merges: !joinsWords,
    scores: null,
  };
}

function sentencePiece(names, field) {
  const [scores, kinds] = [field("scores"), field("token_type")];
  if (scores?.length !== names.length || kinds?.length !== names.length)
    damaged(msg`It is incomplete: its vocabulary has no scores or types`);
  if (kinds.filter((kind) => kind === BYTE).length < 256) unknown(msg`Its vocabulary has no token for each byte`);
  const spaces = { type: "Replace", pattern: { String: " " }, content: SPACE };
  return {
    bytes: "byte_fallback",
    normalizers: (field("add_space_prefix") ?? true) ? [{ type: "Prepend", prepend: SPACE }, spaces] : [spaces],
    ...{ pre_tokenizers: [], merges: [], ignore_merges: true, scores },
  };
}

/** Returns the tokens that are matched as whole strings in a text, before any other rule. */
function addedOf(names, kinds, ends) {
  return names.flatMap((content, id) => {
    const kind = kinds?.[id] ?? NORMAL;
    const isWhole = [UNKNOWN, CONTROL, USER_DEFINED].includes(kind) || ends.has(content);
    return isWhole ? [{ id, content, normalized: false, special: kind !== USER_DEFINED || ends.has(content) }] : [];
  });
}

/** Returns the tokens that end a text because of their names or keys. */
function namedEnds(names, field, { ends: endNames, fill_ins: fillIns, no_ends: noEnds }) {
  const vocabulary = new Set(names);
  const ends = new Set(endNames.filter((name) => vocabulary.has(name)));
  for (const [key, others] of Object.entries(fillIns)) {
    const own = names[field(`${key}_token_id`)] ?? others.find((name) => vocabulary.has(name));
    if (own) ends.add(own);
  }
  for (const [all, token] of noEnds) if (all.every((name) => vocabulary.has(name))) ends.delete(token);
  return ends;
}

/** The example has no text to compare with: it only tries the template. */
function chatOf(template, names) {
  return typeof template === "string" ? { template, names, examples: [[ASKED, null]] } : { refusal: NO_CHAT };
}
