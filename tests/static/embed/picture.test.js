import assert from "node:assert/strict";
import { test } from "node:test";
import { createPicture } from "../../../kvscope/static/embed/picture.js";

/** To which origins a page of this origin sends what it shows. */
function targetsOf(origin) {
  const targets = [];
  const window = {
    origin,
    parent: { postMessage: (_message, target) => targets.push(target) },
    addEventListener: () => {},
    removeEventListener: () => {},
  };
  const picture = createPicture({
    window: /** @type {any} */ (window),
    read: () => ({ prompt: "secret" }),
    commands: {},
  });
  picture.tell();
  picture.dispose();
  return [...new Set(targets)];
}

test("what a page shows is sent to a lesson of the same origin, and to anyone only where pages have no origin", () => {
  assert.deepEqual(targetsOf("https://course.example"), ["https://course.example"]);
  assert.deepEqual(targetsOf("http://127.0.0.1:8000"), ["http://127.0.0.1:8000"]);
  for (const none of ["null", "file://"]) assert.deepEqual(targetsOf(none), ["*"]);
});
