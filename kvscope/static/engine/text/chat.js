/** Chat templates: the Jinja text of a checkpoint that formats a conversation as a prompt (kvscope/model/checkpoint/chat.py). */

import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { jinja } from "./libraries.js";

const LONGEST_REASON = 300;
const OTHER_TEXT = msg`The model's chat template gives another text in this browser than on a server`;

/**
 * @typedef {Object} Described by kvscope/model/checkpoint/packed_tokenizer.py
 * @property {string} [template]
 * @property {Object<string, string>} [names]
 * @property {[string, string|null][]} [examples] prompts, each with its text on a server; null if that depends on the date
 * @property {string} [refusal] why there is no template
 */

/**
 * @param {Described} described
 * @returns {Promise<{hasChat: boolean, chat: (messages: {role: string, content: string}[]) => string}>} `chat` formats messages up to the
 *   beginning of the answer, and throws Refused if the model has no template or the template rejects the messages
 */
export async function createChat({ template, names, examples, refusal }) {
  if (refusal) return without(refusal);
  const { Template } = await jinja();
  const variables = { ...names, tools: null, documents: null, add_generation_prompt: true };
  const chat = (messages) => {
    const text = attempt(() => new Template(template).render({ ...variables, messages }));
    return text.isWellFormed()
      ? text
      : unavailable(msg`The model's chat template writes half a character (a lone surrogate)`);
  };
  try {
    const differ = examples.some(([content, text]) => ![null, chat([{ role: "user", content }])].includes(text));
    return differ ? without(reasoned(OTHER_TEXT)) : { hasChat: true, chat };
  } catch (error) {
    return without(error.message);
  }
}

/** A model without a usable template. */
const without = (refusal) => ({ hasChat: false, chat: () => refuse(refusal) });

/** Returns what the library returns. */
function attempt(render) {
  try {
    return render();
  } catch (error) {
    return unavailable(msg`The model's chat template failed: ${error.message}`);
  }
}

/** @returns {never} */
function unavailable(why) {
  return refuse(reasoned(why));
}

function reasoned(why) {
  const reason = Array.from(why)
    .slice(0, LONGEST_REASON)
    .join("")
    .replace(/[. ]+$/, "");
  return msg`${reason}. Without chat, a plain prompt works.`;
}

/** @returns {never} */
function refuse(detail) {
  throw new Refused(422, detail, { field: "chat" });
}
