import assert from "node:assert/strict";
import { test } from "node:test";
import { lockedInWords, noteOf } from "../../../../kvscope/static/stage/inspector/lock.js";
import { madeRun } from "../../support/made-run.js";

const run = madeRun({ words: ["The", " animal", " it", " was"], promptLength: 3 });
const at = (query, key = null) => ({ query, key });

test("what is locked is named: a cell, a row, or a key of whichever row is newest", () => {
  assert.equal(lockedInWords(run, at(2, 1)), "“it” → “animal”");
  assert.equal(lockedInWords(run, at(2)), "“it”");
  assert.equal(lockedInWords(run, at(null, 1)), "the newest token → “animal”");
});

test("a locked row of another step has that step in its note", () => {
  assert.equal(noteOf(run, at(2, 1), { newest: 2, step: 0 }), null);
  assert.equal(noteOf(run, at(2, 1), { newest: 3, step: 1 }), "computed in step 0; later steps read only its K and V");
  assert.equal(noteOf(run, at(3, 1), { newest: 2, step: 0 }), "“was” is computed in step 1");
  assert.equal(noteOf(run, at(null, 1), { newest: 3, step: 1 }), null);
});
