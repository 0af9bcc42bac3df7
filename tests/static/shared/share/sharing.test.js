import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isToken,
  noteOn,
  partOfField,
  shareRequest,
  sizeInWords,
  titleFrom,
} from "../../../../kvscope/static/shared/share/sharing.js";
import { shareRefusal } from "../../../../kvscope/static/stage/save-panel/share-button.js";

const MOMENT = { step: 3, layer: 13, head: 8, query: null, key: null, view: "head" };

test("a title from a prompt is one short line that the server accepts", () => {
  assert.equal(titleFrom("  The sky\n\tis\u0000 blue "), "The sky is blue");
  assert.equal(titleFrom("a\u202eb\u2066c\u2069"), "a b c");
  const long = titleFrom("🙂".repeat(100));
  assert.equal([...long].length, 80);
  assert.ok(long.endsWith("🙂…"));
  assert.equal(titleFrom("x".repeat(80)), "x".repeat(80));
});

test("a run that opens at its start has no place to open", () => {
  const draft = { title: " A title ", notes: [noteOn(MOMENT, " seen \n", false)], atStart: true };
  assert.deepEqual(shareRequest(draft, MOMENT), {
    title: "A title",
    notes: [{ step: 3, layer: null, head: null, text: "seen" }],
  });
  assert.deepEqual(shareRequest({ ...draft, atStart: false }, MOMENT).open, MOMENT);
});

test("values are requested only if they are chosen, and sizes have words", () => {
  const draft = { title: "", notes: [], atStart: true };
  assert.deepEqual(shareRequest({ ...draft, values: "qkv" }, MOMENT), { title: "", notes: [], values: "qkv" });
  assert.deepEqual(shareRequest({ ...draft, values: "attention" }, MOMENT), { title: "", notes: [] });
  assert.equal(sizeInWords({ bytes: 253980, estimated: false }), "254\u202fkB");
  assert.equal(sizeInWords({ bytes: 3249180, estimated: true }), "about 3.25\u202fMB");
  assert.equal(sizeInWords(undefined), "");
});

test("a note is pinned to layer and head on request only", () => {
  assert.deepEqual(noteOn(MOMENT, "x", true), { step: 3, layer: 13, head: 8, text: "x" });
});

test("only a run that has ended and is not saved can be shared", () => {
  const run = { open: {}, close: {}, saved: null, steps: [{}] };
  assert.equal(shareRefusal(run), null);
  assert.match(shareRefusal({ ...run, close: null }), /when it has ended/);
  assert.match(shareRefusal({ ...run, steps: [] }), /nothing to show/);
  assert.match(shareRefusal(null), /Run a prompt first/);
});

test("a refusal belongs to the part of the form with its field", () => {
  const parts = { title: "title", notes: "notes", "notes[3].text": "notes", "notes[0].step": "notes" };
  Object.assign(parts, { "open.view": "open", open: "open", values: "values", run: null, titles: null });
  for (const [field, part] of Object.entries(parts)) assert.equal(partOfField(field), part, field);
  assert.deepEqual([null, undefined].map(partOfField), [null, null]);
});

test("a text that cannot be sent as a token is no token", () => {
  assert.equal(isToken("o1sgosEvk588T7kG7hg9Qb9lNPzHFaWv"), true);
  for (const text of ["", "two words", "schlüssel", "a\nb"]) assert.equal(isToken(text), false);
});
