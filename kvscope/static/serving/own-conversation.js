/**
 * A conversation of the reader’s: a file with one request per line, as JSON, such as the bodies that a program sent to a chat API
 * (`messages`, and `tools` if there are any). Tools and calls of tools become text, as chat templates write them in other forms. Pure.
 */

import { limitOf } from "../shared/log/limits.js";
import { requestCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { isProblem, requestsIn } from "./request-file.js";

/** By the name in a file. */
const ROLES = { system: "system", developer: "system", user: "user", assistant: "assistant", tool: "tool" };

/** @type {import("./request-file.js").FileKind} */
export const CONVERSATION_FILE = {
  choose: msg`Send a conversation of yours`,
  back: msg`The four agents again`,
  format: msg`One request per line, in order, as JSON: messages as a chat API gets them, with tools if there are any, or prompt. It goes to this server only.`,
  read: (text, limits) => conversationOf(text, limitOf(limits, "workload", "requests")[1]),
  says: ({ requests }, name) => msg`${requestCount(requests.length)} of ${name}, one after the other.`,
};

/**
 * @typedef {{role: string, content: string}} Message
 *
 * @param {string} text of the file
 * @param {number} most requests
 * @returns {{requests: {messages: Message[]}[]}|{problem: string}}
 */
export function conversationOf(text, most) {
  const read = requestsIn(text, most, requestOf);
  return isProblem(read) ? read : { requests: read };
}

/** @returns {{messages: Message[]}|{problem: string}} */
function requestOf({ prompt, messages, tools }) {
  if (typeof prompt === "string" && prompt) return { messages: [{ role: "user", content: prompt }] };
  if (!Array.isArray(messages) || !messages.length) return { problem: msg`messages is missing; it must be a list.` };
  const read = [];
  for (const [at, message] of messages.entries()) {
    const one = messageOf(message);
    if (isProblem(one)) return { problem: msg`messages[${at}]: ${one.problem}` };
    read.push(one);
  }
  return { messages: Array.isArray(tools) && tools.length ? withTools(read, tools) : read };
}

/** @returns {Message|{problem: string}} */
function messageOf(message) {
  const { role, content, tool_calls: calls } = message ?? {};
  if (!ROLES[role])
    return {
      problem: msg`role is ${JSON.stringify(role ?? null)}; it must be one of ${Object.keys(ROLES).join(", ")}.`,
    };
  const text = textOf(content);
  if (text === null) return { problem: msg`content must be text, or a list of parts with text.` };
  const parts = [text, ...(Array.isArray(calls) ? calls : []).map((call) => JSON.stringify(call?.function ?? call))];
  return { role: ROLES[role], content: parts.filter(Boolean).join("\n") };
}

/** @returns {string|null} null if there is anything but text, such as an image */
function textOf(content) {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content) || content.some((part) => typeof part?.text !== "string")) return null;
  return content.map(({ text }) => text).join("");
}

/** Chat templates put the tools before the conversation, in or after the system message. */
function withTools(messages, tools) {
  const listed = tools.map((tool) => JSON.stringify(tool)).join("\n");
  const [first, ...others] = messages;
  if (first.role === "system") return [{ role: "system", content: `${first.content}\n${listed}` }, ...others];
  return [{ role: "system", content: listed }, ...messages];
}
