import assert from "node:assert/strict";
import test from "node:test";
import { messagesOf, untaggedIn } from "../../tools/messages/scan.js";

const keys = (source) => messagesOf(source).map(({ key }) => key);
const texts = (source) => untaggedIn(source).map(({ text }) => text);

test("places of a message have the names of what is put there, each once", () => {
  assert.deepEqual(keys("msg`Row ${row} of ${integer(run.rows)}, ${bytes(a.row)}`"), ["Row {row} of {rows}, {row2}"]);
});

test("a plural is one message with two forms", () => {
  const [found, ...others] = messagesOf("plural(n, form`${n} token`, form`${n} tokens`)");
  assert.deepEqual([found.key, found.other, others.length], ["{n} token", "{n} tokens", 0]);
});

test("a message inside a message is found too", () => {
  assert.deepEqual(keys("nodes`See ${html`<b>${msg`the cache`}</b>`}`").length, 2);
});

test("text of elements and attributes that people read has to be tagged", () => {
  const source = 'html`<p class="a b" title="Next step">Run <b>${msg`now`}</b></p>`';
  assert.deepEqual(texts(source), ["Run", "Next step"]);
});

test("a sentence in a string or a template has to be tagged", () => {
  assert.deepEqual(texts('const a = "two words"; const b = `${n} more tokens`;'), ["two words", "0 more tokens"]);
  assert.deepEqual(texts("const a = msg`two words`; const b = nodes`${n} more tokens`;"), []);
});

test("classes of an element are names", () => {
  const source = "html`<p class=${`card is-${name} wide`} title=${`please see ${name}`}></p>`";
  assert.deepEqual(texts(source), ["please see 0"]);
});

test("keys, code and what a comment says is not language does not have to be tagged", () => {
  const source =
    'html`<kbd>Ctrl</kbd> <code>top_k</code>`;\n// Not language: Python.\nconst a = "from here import there";';
  assert.deepEqual(texts(source), []);
});

test("what nobody reads does not have to be tagged", () => {
  const source = 'import a from "./some file.js"; throw new Error("no such head"); view.querySelector("main nav a");';
  assert.deepEqual(texts(source), []);
});
