import assert from "node:assert/strict";
import { test } from "node:test";
import { storageOr } from "../../../../kvscope/static/shared/state/storage.js";
import { FIRST } from "../../../../kvscope/static/stage/state/focus.js";
import { beginOf, rememberIntro, rememberOpened } from "../../../../kvscope/static/stage/state/newcomer.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";

const storage = () => storageOr(() => null);

test("the front page begins with the intro, a link to anything does not", () => {
  assert.deepEqual(beginOf({ run: null, link: {} }, storage()), { run: null, link: { view: "intro" } });
  assert.deepEqual(beginOf({ run: "r1", link: {} }, storage()), { run: "r1", link: {} });
  assert.deepEqual(beginOf({ run: null, link: { step: 2 } }, storage()), { run: null, link: { step: 2 } });
});

test("who has left the intro comes to the first parts of the stage the next time", () => {
  const device = storage();
  const store = createStore({ selection: { layer: 0, head: 0, query: null, key: null, view: "intro" } });
  rememberIntro(store, device);
  store.dispatch({ type: "moment", moment: 0 });
  assert.deepEqual(beginOf({ run: null, link: {} }, device).link, { view: "intro" }, "not while it is in sight");
  store.dispatch({ type: "select", selection: { view: "head" } });
  assert.deepEqual(beginOf({ run: null, link: {} }, device).link, { step: 0, focus: FIRST });
});

test("what was opened beside the first parts is open the next time, and an address decides for itself", () => {
  const device = storage();
  device.setItem("kvscope.intro-seen", "1");
  const next = (link = {}) => beginOf({ run: null, link }, device).link;
  rememberOpened([...FIRST, "time", "attn.weights"], device);
  assert.deepEqual(next(), { step: 0, focus: [...FIRST, "time"] });
  assert.deepEqual(next({ focus: ["map"] }), { focus: ["map"] });
  rememberOpened(FIRST, device);
  assert.deepEqual(next(), { step: 0, focus: FIRST });
  rememberOpened(null, device);
  assert.deepEqual(next(), { step: 0, focus: null });
  device.setItem("kvscope.opened", "gone,time");
  assert.deepEqual(next(), { step: 0, focus: [...FIRST, "time"] }, "of an older version");
});

test("who leaves the intro again has the first parts alone", () => {
  const device = storage();
  const store = createStore({ selection: { layer: 0, head: 0, query: null, key: null, view: "intro", focus: null } });
  rememberIntro(store, device);
  rememberOpened([...FIRST, "time"], device);
  store.dispatch({ type: "select", selection: { view: "head" } });
  assert.deepEqual(beginOf({ run: null, link: {} }, device).link, { step: 0, focus: FIRST });
});

test("a viewer who never saw it has nothing remembered", () => {
  const device = storage();
  const store = createStore();
  rememberIntro(store, device);
  store.dispatch({ type: "select", selection: { view: "cache" } });
  assert.deepEqual(beginOf({ run: null, link: {} }, device).link, { view: "intro" });
});
