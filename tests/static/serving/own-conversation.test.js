import assert from "node:assert/strict";
import { test } from "node:test";
import { CONVERSATION, isOwn, partingOf } from "../../../kvscope/static/serving/conversation.js";
import { bodyOf } from "../../../kvscope/static/serving/experiments.js";
import { conversationOf } from "../../../kvscope/static/serving/own-conversation.js";
import { SETTINGS } from "./made.js";

const lines = (...each) => each.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
const MOST = { requests: 9, messages: 6, characters: 200 };
const read = (...each) => conversationOf(lines(...each), MOST);
const messages = (body) => read(body).requests[0].messages;
const user = { role: "user", content: "hi" };

test("bodies of a chat API become conversations, with tools and calls of tools as text", () => {
  const call = { id: "1", type: "function", function: { name: "stock", arguments: "{}" } };
  assert.deepEqual(
    messages({
      model: "x",
      messages: [
        {
          role: "developer",
          content: [
            { type: "text", text: "be " },
            { type: "text", text: "brief" },
          ],
        },
        user,
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", content: "2", tool_call_id: "1" },
      ],
      tools: [{ type: "function" }],
    }),
    [
      { role: "system", content: 'be brief\n{"type":"function"}' },
      user,
      { role: "assistant", content: '{"name":"stock","arguments":"{}"}' },
      { role: "tool", content: "2" },
    ],
  );
  assert.deepEqual(messages({ messages: [user], tools: [1] }), [{ role: "system", content: "1" }, user]);
  assert.deepEqual(messages({ prompt: "hi" }), [user]);
  assert.deepEqual(messages({ system: "be brief", messages: [user] }), [{ role: "system", content: "be brief" }, user]);
});

test("a mistake is named with its line and message", () => {
  const problem = (...each) => read(...each).problem;
  assert.match(problem({ messages: [user] }, { messages: [] }), /^Line 2: messages is missing/);
  assert.match(problem({ messages: [user, { role: "bot", content: "" }] }), /^Line 1: messages\[1\]: role is "bot"/);
  assert.match(problem({ messages: [{ role: "constructor", content: "" }] }), /role is "constructor"/);
  assert.match(problem({ prompt: "a", messages: [user] }), /both prompt and messages/);
  assert.match(problem({ system: 3, messages: [user] }), /system must be text/);
  assert.match(problem({ messages: Array.from({ length: 7 }, () => user) }), /it has 7 messages; at most 6/);
  assert.match(problem({ prompt: "a".repeat(201) }), /it has 201 characters; at most 200/);
  assert.match(problem({ messages: [null] }), /messages\[0\]: role is null/);
  const image = { role: "user", content: [{ type: "image_url", image_url: {} }] };
  assert.match(problem({ messages: [image] }), /content must be text/);
  assert.deepEqual(read({ messages: [user], tools: "none" }, { messages: [{ ...user, tool_calls: 3 }] }).requests, [
    { messages: [user] },
    { messages: [user] },
  ]);
});

test("each request of a conversation is counted, and where it parts from the one before", () => {
  const file = read({ prompt: "a" }, { prompt: "b" });
  const { requests, rounds } = bodyOf(CONVERSATION, { system: "s", requests: [], settings: SETTINGS }, 30, { file });
  assert.deepEqual(
    requests.map(({ messages, prompt }) => [messages, prompt]),
    file.requests.map(({ messages }) => [messages, undefined]),
  );
  assert.equal(rounds.length, 2);
  const sent = ["user: a\n", "user: a\nbot: b\n", "user: A\n"].map((prompt) => ({
    ...{ prompt, messages: 1, tokens: 10, max_new_tokens: 1 },
  }));
  const answers = [0, 9, 4].map((shared) => ({ shared, rows: 10 - shared }));
  assert.ok(isOwn(sent) && CONVERSATION.isOf({ requests: sent }));
  const details = CONVERSATION.details({ answers, requests: sent });
  assert.deepEqual(
    details.map(({ cached, computed, requests: [{ isFirst, parts }] }) => [
      cached,
      computed,
      isFirst,
      parts?.before ?? null,
    ]),
    [
      [0, 10, true, null],
      [9, 1, false, null],
      [4, 6, false, "a⏎bot: b⏎"],
    ],
  );
  assert.match(
    CONVERSATION.conclusion({ name: "x", details, requests: sent }),
    /need 17 rows, and 43\s% .* had: request 3\.$/,
  );
  assert.equal(CONVERSATION.isOf({ requests: sent.map((each) => ({ ...each, max_new_tokens: 9 })) }), false);
  const alone = CONVERSATION.conclusion({ name: "x", details: details.slice(0, 1), requests: sent.slice(0, 1) });
  assert.ok(!alone.includes("before"), alone);
});

test("two characters of which only the second half differs are shown whole", () => {
  assert.deepEqual(partingOf("a😀b", "a😁b"), { same: "a", before: "😀b", after: "😁b" });
});
