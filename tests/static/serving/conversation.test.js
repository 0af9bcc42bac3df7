import assert from "node:assert/strict";
import { test } from "node:test";
import { AGENTS, CONVERSATION, costOf, partingOf } from "../../../kvscope/static/serving/conversation.js";
import { bodyOf } from "../../../kvscope/static/serving/experiments.js";
import { SETTINGS } from "./made.js";

const { requests } = bodyOf(CONVERSATION, { system: "s", requests: [], settings: SETTINGS }, 30);
const each = requests.length / AGENTS.length;
const promptsOf = (id) => {
  const at = AGENTS.findIndex((agent) => agent.id === id);
  return requests.slice(at * each, (at + 1) * each).map(({ prompt }) => prompt);
};
const partings = (id) =>
  promptsOf(id)
    .slice(1)
    .map((prompt, at) => partingOf(promptsOf(id)[at], prompt));

test("an agent that only appends repeats each prompt whole; the others change one thing", () => {
  assert.deepEqual(partings("appends"), [null, null, null]);
  const thoughts = partings("thoughts");
  assert.deepEqual([thoughts[0], thoughts[2]], [null, null], "within a turn it appends");
  assert.match(thoughts[1].before, /^Thought: /);
  assert.match(thoughts[1].after, /^Call: /);
  assert.ok(partings("tools").every(({ same }) => same.includes("customer wants")));
  assert.ok(partings("time").every(({ same, before, after }) => same.endsWith("It is 10:0") && before[0] < after[0]));
});

test("agents have no first words in common, so that none finds what another one computed", () => {
  assert.equal(new Set(AGENTS.map(({ id }) => promptsOf(id)[0][0])).size, AGENTS.length);
});

test("what an agent’s prompts cost is counted from the rows that were computed and found", () => {
  const answers = requests.map((_, request) => ({
    request,
    shared: request % each ? 60 : 0,
    rows: request % each ? 40 : 100,
  }));
  const sent = requests.map((request) => ({ ...request, tokens: 100 }));
  const [first, ...others] = CONVERSATION.details({ answers, requests: sent });
  assert.deepEqual([first.sent, first.cached, first.computed, others.length], [400, 180, 220, 3]);
  assert.equal(costOf(first, { plain: 3, cached: 0.3 }), (220 * 3 + 180 * 0.3) / 1000);
  const side = (name, details) => ({ name, details, requests: sent });
  const conclusion = CONVERSATION.conclusion(
    side("x", [
      { ...first, computed: 90 },
      { ...others[0], computed: 300 },
    ]),
  );
  assert.match(
    conclusion,
    /^Round “x”: the agent that only appends needs 90 rows, and 45\s% .* drops earlier thinking needs 300\.$/,
  );
});
