/** What test_address.py, which draws addresses, leaves open. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatHash, parseHash, presentOfSearch } from "../../../../kvscope/static/shared/state/location.js";
import {
  addressOf,
  followAddress,
  readAddress,
  writtenAddress,
} from "../../../../kvscope/static/stage/state/address.js";

test("a written hash is read back", () => {
  const values = { step: 3, layer: 13, head: 8, query: 8, key: 0, view: "head" };
  assert.equal(formatHash(values), "#step=3&layer=13&head=8&query=8&key=0&view=head");
  assert.deepEqual(parseHash(formatHash(values)), values);
});

test("names of parts are read and written with commas between them", () => {
  assert.deepEqual(parseHash("#focus=attn.scores,cache.k").focus, ["attn.scores", "cache.k"]);
  assert.equal(formatHash({ step: 0, focus: ["attn.scores", "cache.k"] }), "#step=0&focus=attn.scores,cache.k");
  assert.equal(formatHash({ step: 0, focus: null }), "#step=0");
});

test("missing properties are not written", () => {
  assert.equal(formatHash({ step: 0, query: null, key: undefined, other: 4 }), "#step=0");
  assert.equal(formatHash({}), "");
});

test("an address can request large type, and keeps it", () => {
  assert.equal(presentOfSearch("?run=a1&present=1"), true);
  assert.equal(presentOfSearch("?present=yes"), false);
  const state = { run: { id: "a1", steps: [{}] }, step: 2, selection: { layer: 1 } };
  assert.equal(addressOf({ ...state, present: true }), "/?run=a1&present=1#step=2&layer=1");
  assert.equal(addressOf({ ...state, present: false }), "/?run=a1#step=2&layer=1");
});

const SAVED = { id: "abcdefghij23", run: "a1" };

test("a saved session is named by its path alone, which replaces the run's name", () => {
  const at = { pathname: "/s/abcdefghij23", search: "", hash: "#step=2" };
  assert.deepEqual(readAddress(at, SAVED), { run: "a1", link: { step: 2 } });
  for (const pathname of ["/", "/s/", "/s/a/b", "/x/s/abcdefghij23"]) {
    assert.equal(readAddress({ ...at, pathname, search: "?run=b2" }, SAVED).run, "b2");
  }
});

test("on a page of a static site the hash names a run that is not the page's own", () => {
  const at = { pathname: "/kv/s/abcdefghij23.html", search: "" };
  const written = (run) => writtenAddress({ run: { steps: [{}], ...run }, step: 2, selection: {} }, true);
  const own = written({ id: "here-1", saved: null });
  assert.equal(own, "#step=2&run=here-1");
  assert.deepEqual(readAddress({ ...at, hash: own }, SAVED, true), { run: "here-1", link: { step: 2 } });
  const recorded = written({ id: "a1", saved: SAVED });
  assert.equal(recorded, "#step=2");
  assert.deepEqual(readAddress({ ...at, hash: recorded }, SAVED, true), { run: "a1", link: { step: 2 } });
  assert.equal(readAddress({ ...at, hash: own }, SAVED, false).run, null);
});

/** What `followAddress` writes of the states that a store is given, on a clock of its own. */
function addressBar(t, { pathname = "/", search = "", hash = "" } = {}) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const changes = [];
  const visited = [];
  const listeners = {};
  const noted = (how) => (_state, _title, address) => changes.push(`${how} ${address}`);
  const window = {
    location: { pathname, search, hash },
    history: { pushState: noted("push"), replaceState: noted("replace") },
    addEventListener: (name, listener) => (listeners[name] = listener),
    removeEventListener: () => {},
  };
  let [state, changed] = [];
  const subscribe = (listener) => {
    changed = listener;
    return () => {};
  };
  const controller = { visit: (run, link) => visited.push([run, link]), applyLink: () => {} };
  const show = (given, ms) => {
    state = { selection: {}, progress: 1, ...given };
    changed();
    t.mock.timers.tick(ms);
  };
  const store = { state: () => state, subscribe };
  return { window, store, controller, changes, visited, listeners, show };
}

test("a new run replaces the link by its own address, and back leads to the saved run", (t) => {
  const at = { pathname: "/s/abcdefghij23", hash: "#step=1" };
  const { changes, visited, listeners, show, ...page } = addressBar(t, at);
  const stop = followAddress({ ...page, saved: SAVED });
  show({ run: { id: "a1", saved: SAVED, steps: [{}] }, step: 0 }, 300);
  show({ run: { id: "b2", saved: null, steps: [{}] }, step: 0 }, 300);
  assert.deepEqual(changes, ["replace /s/abcdefghij23#step=0", "push /?run=b2#step=0"]);
  listeners.popstate();
  assert.deepEqual(visited, [["a1", { focus: null, step: 1 }]]);
  stop();
});

test("a study's link is replaced by the run that it leads to, so that back does not return to it", (t) => {
  const { changes, show, ...page } = addressBar(t, { search: "?run=beam" });
  const stop = followAddress(page);
  show({ run: { id: "a1", steps: [{}] }, insteadOf: "beam", step: 0 }, 300);
  assert.deepEqual(changes, ["replace /?run=a1#step=0"]);
  stop();
});

test("a moving run changes the address every two seconds, a new or stopped one at once", (t) => {
  const { changes, show, ...page } = addressBar(t, { search: "?run=a1" });
  const stop = followAddress(page);
  const run = { id: "a1", steps: [{}] };
  for (let step = 0; step < 50; step += 1) show({ run, step, following: true }, 100);
  show({ run, step: 49, following: false }, 300);
  const shown = [2, 22, 42, 49].map((step) => `replace /?run=a1#step=${step}`);
  assert.deepEqual(changes, shown);
  stop();
});

test("a link opens or closes the code, and an address names the code only while it is open", () => {
  assert.deepEqual(parseHash("#step=2&code=1"), { step: 2, code: true });
  assert.deepEqual(parseHash("#code=0"), { code: false });
  assert.deepEqual(parseHash("#code=yes"), {});
  assert.equal(formatHash({ step: 2, code: true }), "#step=2&code=1");
  assert.equal(formatHash({ step: 2, code: false }), "#step=2");
});

test("changes are in the address one by one, in order", () => {
  const change = ["zero head layer 13 head 8", 'patch mlp layer 0 source "a & b=1"'];
  const hash = formatHash({ step: 2, change });
  assert.equal(hash.split("&change=")[1], "zero+head+layer+13+head+8");
  assert.deepEqual(parseHash(hash), { step: 2, change });
  assert.deepEqual(parseHash("#step=2&change="), { step: 2 });
});
