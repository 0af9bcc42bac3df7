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

test("each course of ranks has its sentence", () => {
  const sentences = [
    [[9, 4, 0, 0], "“be” first becomes the best guess after layer 2, and remains it after all later layers."],
    [
      [9, 0, 3, 0],
      "“be” first becomes the best guess after layer 1. After layer 2, another token is ahead; after the last layer, 3, it is “be” again.",
    ],
    [
      [9, 0, 3, 0, 0],
      "“be” first becomes the best guess after layer 1. After layer 2, another token is ahead; from layer 3 on, it is “be” again.",
    ],
    [[9, 4, 0], "“be” becomes the best guess only after the last layer, 2."],
    [[0, 0], "“be” is the best guess after each of the 2 layers."],
    [[9, 4], "“be” is not the best guess after any layer. After the last layer, it has rank 5, with 10.0\u202f%."],
    [
      [0, 4],
      "“be” is the best guess after layer 0, but not after the last layer. There it has rank 5, with 10.0\u202f%.",
    ],
  ];
  for (const [ranks, sentence] of sentences) assert.equal(lensSentence(lensOf(...ranks)), sentence);
});

test("a model of one layer has only a last layer", () => {
  assert.equal(lensSentence(lensOf(0)), "“be” is the best guess after the only layer.");
});

test("one layer's reading names its guess and the rank of the token chosen in the end", () => {
  assert.equal(
    readingSentence(lensOf(4, 0), 0),
    "After layer 0, the best guess is “of” (40\u202f%); “be” has rank 5. Training used only the last layer in this way.",
  );
  assert.equal(readingSentence(lensOf(4, 0), 1), "After layer 1, the best guess is “be” (40\u202f%).");
});
