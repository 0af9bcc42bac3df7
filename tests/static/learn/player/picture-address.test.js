/** The address of the frame of a step: of the recording, of the viewer's run, inside another page, in a file. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { INSIDE, pictureOf } from "../../../../kvscope/static/learn/player/picture-address.js";

const LESSON = { run: "abc", session: "s1", logged: false, own: false, framed: false };
const AT = "/#step=3&view=block";

test("the Stage stays loaded while only its place changes", () => {
  const [one, other] = [AT, "/#step=4"].map((at) => pictureOf(at, LESSON));
  assert.equal(one.document, "/s/s1");
  assert.equal(one.document, other.document);
  assert.deepEqual([one.hash, one.place], ["#step=3&view=block", { step: "3", view: "block" }]);
  assert.equal(one.address, "/s/s1#step=3&view=block");
});

test("a recording in the server's log is shown from there, so that experiments can start from it", () => {
  assert.equal(pictureOf(AT, { ...LESSON, logged: true }).document, "/?run=abc");
  assert.equal(pictureOf(AT, { ...LESSON, logged: true, framed: true }).document, "/embed/s1");
});

test("a run of the viewer replaces the recording", () => {
  assert.equal(pictureOf(AT, { ...LESSON, run: "a b", session: null, own: true }).document, "/?run=a%20b");
});

test("inside another page, frames use the addresses that may be framed", () => {
  const framed = { ...LESSON, framed: true };
  assert.equal(pictureOf(AT, framed).document, "/embed/s1");
  assert.equal(pictureOf("/by-hand/a?cell=q1:0:0", framed).document, "/embed/by-hand/a?cell=q1:0:0");
  assert.equal(pictureOf("/memory?model=x", LESSON).document, "/memory?model=x");
  assert.equal(pictureOf("/serving#pass=8", LESSON).document, "/serving#pass=8");
});

test("a file contains only the page of its session", () => {
  const file = { ...LESSON, file: true };
  assert.equal(pictureOf(AT, file).document, INSIDE);
  assert.equal(pictureOf("/memory", file), null);
  assert.equal(pictureOf(null, LESSON), null);
});
