import assert from "node:assert/strict";
import { test } from "node:test";
import { growth, isOutside } from "../../../../kvscope/static/stage/inspector/growth.js";

test("a zoom is outside the zooms further in and outside every panel, and nothing is outside itself", () => {
  const outside = (view, inner) => isOutside(view, inner);
  assert.deepEqual(
    [outside("model", "block"), outside("block", "pair"), outside("head", "cache"), outside("model", "time")],
    [true, true, true, true],
  );
  assert.deepEqual(
    [outside("pair", "head"), outside("head", "head"), outside("cache", "time"), outside("tokens", "head")],
    [false, false, false, false],
  );
  assert.equal(outside("head", null), false);
});

test("a view begins where the pressed place is, no larger than it will be, and ends in its own place", () => {
  const panel = { left: 100, top: 50, width: 800, height: 400 };
  const [begin, end] = growth({ left: 300, top: 250, width: 80, height: 20 }, panel);
  assert.equal(begin.transform, "translate(200px, 200px) scale(0.1)");
  assert.equal(end.transform, "none");
  assert.match(growth({ left: 0, top: 0, width: 2000, height: 20 }, panel)[0].transform, /scale\(1\)$/);
});
