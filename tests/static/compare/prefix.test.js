import assert from "node:assert/strict";
import { test } from "node:test";
import { prefixOf } from "../../../kvscope/static/compare/prefix.js";
import { runOf } from "../support/compared-runs.js";
import { columns } from "../support/lists.js";

const EARLIER = "2026-11-27T10:00:00+00:00";
const LATER = "2026-11-27T10:00:05+00:00";
const PROMPT = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
const earlier = (words = PROMPT) => runOf([...words, "!"], { promptLength: words.length, open: { created: EARLIER } });
const later = (words, { reused = 0, prefix = { common: reused, reason: null } } = {}) =>
  runOf([...words, "!"], { promptLength: words.length, reused, open: { created: LATER, prefix } });
const reasons = (found) => found.reasons.map(({ reason, first, last }) => `${reason} ${first}–${last}`);
const changedAt = (position) => PROMPT.map((word, at) => (at === position ? "other" : word));

test("rows up to the first token that differs are shared, whole blocks and a copy of a part of one", () => {
  const found = prefixOf(earlier(), later(changedAt(6), { reused: 6 }));
  assert.deepEqual([found.later, found.common, found.reused], ["b", 6, 6]);
  assert.deepEqual(columns(found.blocks, "state", "reason"), {
    state: ["shared", "copied", "computed"],
    reason: [null, "differs", "differs"],
  });
  assert.deepEqual(reasons(found), ["differs 6–8", "last 9–9"]);
});

test("whichever side began later is the one that could share", () => {
  const found = prefixOf(later(changedAt(6), { reused: 6 }), earlier());
  assert.equal(found.later, "a");
  assert.deepEqual({ ...found, later: "b" }, prefixOf(earlier(), later(changedAt(6), { reused: 6 })));
});

test("the same prompt again computes its last row alone", () => {
  assert.deepEqual(reasons(prefixOf(earlier(), later(PROMPT, { reused: 9 }))), ["last 9–9"]);
});

test("the log's own reason stands for rows that this client's runs had", () => {
  for (const reason of ["off", "evicted", "computing", "window"]) {
    const found = prefixOf(earlier(), later(PROMPT, { reused: 2, prefix: { common: 9, reason } }));
    assert.deepEqual(reasons(found), [`${reason} 2–8`, "last 9–9"]);
  }
});

test("rows that no run of the client had there are another client's, or of another engine", () => {
  const found = prefixOf(earlier(), later(PROMPT, { prefix: { common: 3, reason: "evicted" } }));
  assert.deepEqual(reasons(found), ["evicted 0–2", "elsewhere 3–8", "last 9–9"]);
  const stranger = prefixOf(earlier(), later(PROMPT, { prefix: { common: 0, reason: "no_client" } }));
  assert.equal(reasons(stranger)[0], "no_client 0–8");
});

test("rows of a run whose client is not known are shared with nobody", () => {
  const first = earlier();
  first.open.prefix = { common: 0, reason: "no_client" };
  assert.equal(reasons(prefixOf(first, later(PROMPT)))[0], "unshared 0–8");
});

test("why tokens of the earlier answer were not read is not said: they may have come after the later run began", () => {
  const first = runOf([...PROMPT, "!"], { promptLength: 4, open: { created: EARLIER } });
  assert.deepEqual(reasons(prefixOf(first, later(PROMPT, { reused: 4 }))), ["unknown 4–8", "last 9–9"]);
});

test("an older log gives no reason, and none is invented", () => {
  assert.equal(reasons(prefixOf(earlier(), later(PROMPT, { prefix: null })))[0], "unknown 0–8");
});

test("rows past the end of the earlier run differ from nothing", () => {
  const short = prefixOf(earlier(PROMPT.slice(0, 4)), later(PROMPT, { reused: 4 }));
  assert.deepEqual(reasons(short), ["ended 4–8", "last 9–9"]);
});

test("nothing is said of two models, of a branch, or of the order of runs from the same second", () => {
  const [a, b] = [earlier(), later(PROMPT)];
  assert.equal(prefixOf({ ...a, open: { ...a.open, model: { ...a.open.model, sha256: "other" } } }, b), null);
  assert.equal(prefixOf(a, { ...b, open: { ...b.open, parent: { run: "x" } } }), null);
  assert.deepEqual(prefixOf(a, earlier()), { later: null });
});
