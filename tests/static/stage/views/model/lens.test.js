import assert from "node:assert/strict";
import { test } from "node:test";
import { leadOf, lensSentence, readingSentence } from "../../../../../kvscope/static/stage/views/model/lens.js";
import { token } from "../../../support/wire.js";

/** A lens whose chosen token had these ranks from the first layer to the last. */
function lensOf(...ranks) {
  return {
    token: token(" be", 325),
    layers: ranks.map((rank, layer) => ({
      layer,
      top: [{ ...(rank === 0 ? token(" be", 325) : token(" of", 9)), prob: 0.4 }],
      chosen: { prob: rank === 0 ? 0.4 : 0.1, rank },
    })),
  };
}

test("the layer that a token first leads after, and the one from which it always does", () => {
  assert.deepEqual(leadOf(lensOf(9, 0, 3, 0, 0).layers), { first: 1, lasting: 3 });
  assert.deepEqual(leadOf(lensOf(9, 0, 0).layers), { first: 1, lasting: 1 });
  assert.deepEqual(leadOf(lensOf(9, 0, 2).layers), { first: 1, lasting: null });
  assert.deepEqual(leadOf(lensOf(9, 8).layers), { first: null, lasting: null });
});

const numbersIn = (sentence) => sentence.match(/\d+(\.\d+)?/g) ?? [];

test("a sentence names the layers at which the lead changes, or the rank and share in the end", () => {
  const courses = { 0: "", "0 0": "2", "9 4 0 0": "2", "9 4 0": "2", "9 0 3 0": "1 2 3", "9 0 3 0 0": "1 2 3" };
  const others = { "9 4": "5 10.0", "0 4": "0 5 10.0" };
  const sentences = Object.entries({ ...courses, ...others }).map(([ranks, numbers]) => {
    const sentence = lensSentence(lensOf(...ranks.split(" ").map(Number)));
    assert.equal(numbersIn(sentence).join(" "), numbers, sentence);
    return sentence;
  });
  assert.equal(new Set(sentences).size, 8, "each course has a sentence of its own");
});

test("one layer's reading has its guess and the rank of the token chosen in the end", () => {
  const early = readingSentence(lensOf(4, 0), 0);
  assert.ok(early.includes("“of”") && early.includes("“be”"));
  assert.deepEqual(numbersIn(early), ["0", "40", "5"]);
  assert.deepEqual(numbersIn(readingSentence(lensOf(4, 0), 1)), ["1", "40"]);
});
