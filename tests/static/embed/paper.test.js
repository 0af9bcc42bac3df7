import assert from "node:assert/strict";
import { test } from "node:test";
import { inked } from "../../../kvscope/static/embed/paper.js";

const [WHITE, BLACK, NOTHING] = [
  [255, 255, 255, 255],
  [0, 0, 0, 255],
  [0, 0, 0, 0],
];

test("a picture is cut where nothing but white is around it", () => {
  const pixels = [
    [WHITE, WHITE, WHITE, NOTHING],
    [WHITE, WHITE, BLACK, WHITE],
    [WHITE, BLACK, WHITE, WHITE],
  ];
  assert.deepEqual(inked(new Uint8ClampedArray(pixels.flat(2)), 4), { left: 1, top: 1, right: 3, bottom: 3 });
});

test("a page that shows nothing has no picture", () => {
  assert.throws(() => inked(new Uint8ClampedArray(WHITE), 1), /shows nothing/);
});
