/**
 * A conversation of the reader’s: a file with one request per line, as JSON, such as the bodies that a program sent to a chat API
 * (`messages`, and `tools` if there are any). Tools and calls of tools become text, as chat templates write them in other forms. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { mostOf } from "../shared/log/limits.js";
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
  read: (text, limits) =>
    conversationOf(text, {
      requests: mostOf(limits, "workload", "requests"),
      messages: mostOf(limits, "workload", "messages"),
      characters: mostOf(limits, "workload", "content"),
    }),
  says: ({ requests }, name) => msg`${requestCount(requests.length)} of ${name}, one after the other.`,
};

/**
 * @typedef {{role: string, content: string}} Message
 *
 * @param {string} text of the file
 * @param {{requests: number, messages: number, characters: number}} most of a file, and of a request
 * @returns {{requests: {messages: Message[]}[]}|{problem: string}}
 */
export function conversationOf(text, most) {
  const read = requestsIn(text, most.requests, (data) => withinLimits(requestOf(data), most));
  return isProblem(read) ? read : { requests: read };
}

/** @returns {{messages: Message[]}|{problem: string}} */
function requestOf({ prompt, system, messages, tools }) {
  if (prompt && messages) return { problem: msg`it has both prompt and messages.` };
  if (typeof prompt === "string" && prompt) return { messages: [{ role: "user", content: prompt }] };
  if (!Array.isArray(messages) || !messages.length) return { problem: msg`messages is missing; it must be a list.` };
  const read = [];
  const own = textOf(system);
  if (own === null) return { problem: msg`system must be text, or a list of parts with text.` };
  if (own) read.push({ role: "system", content: own });
  for (const [at, message] of messages.entries()) {
    const one = messageOf(message);
    if (isProblem(one)) return { problem: msg`messages[${at}]: ${one.problem}` };
    read.push(one);
  }
  return { messages: Array.isArray(tools) && tools.length ? withTools(read, tools) : read };
}

/** @returns {{messages: Message[]}|{problem: string}} the same request, or what it has too much of */
function withinLimits(request, most) {
  if (isProblem(request)) return request;
  const { length } = request.messages;
  const characters = request.messages.reduce((sum, { content }) => sum + content.length, 0);
  const [messages, text] = [most.messages, most.characters].map(integer);
  if (length > most.messages)
    return { problem: msg`it has ${integer(length)} messages; at most ${messages} are sent.` };
  if (characters > most.characters)
    return { problem: msg`it has ${integer(characters)} characters; at most ${text} are sent.` };
  return request;
}

/** @returns {Message|{problem: string}} */
function messageOf(message) {
  const { role, content, tool_calls: calls } = message ?? {};
  if (!Object.hasOwn(ROLES, role ?? ""))
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
