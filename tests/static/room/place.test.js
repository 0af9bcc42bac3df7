/** What a presenter sends of the shown page, and what brings a follower's page there. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isSamePlace, mayShow, placeOf, waitBefore, waysTo } from "../../../kvscope/static/room/place.js";

const HASH = "#step=3&layer=13&head=8&view=head";
const stageAt = (hash, more = {}) => ({
  address: `/?run=a${hash}`,
  stage: { run: "a", step: Number(/step=(\d+)/.exec(hash)?.[1] ?? 0), playing: false, ...more },
  lesson: null,
});
const lessonAt = (step, more = {}) => ({
  address: `/learn/x#${step}`,
  stage: null,
  lesson: {
    within: "/s/x#step=1&layer=2",
    playing: false,
    answered: false,
    held: false,
    question: { text: "?" },
    ...more,
  },
});
const place = (address, more = {}) => ({ address, within: null, playing: false, answered: false, ...more });
const sent = (ways) => ways.map(({ send }) => send);

test("a presenter sends the page, the picture of a lesson, whether it plays, and whether its question is answered", () => {
  assert.deepEqual(placeOf(stageAt(HASH, { playing: true })), place(`/?run=a${HASH}`, { playing: true }));
  const lesson = lessonAt(2, { answered: true });
  assert.deepEqual(placeOf(lesson), place("/learn/x#2", { within: "/s/x#step=1&layer=2", answered: true }));
  assert.equal(placeOf(lessonAt(2, { answered: true, question: null })).answered, false);
  assert.equal(isSamePlace(placeOf(lesson), placeOf(lessonAt(2, { answered: true }))), true);
  assert.equal(isSamePlace(placeOf(lesson), placeOf(lessonAt(3, { answered: true }))), false);
  assert.equal(isSamePlace(null, placeOf(lesson)), false);
});

test("the steps of a run that plays are sent once a second, and everything else at once", () => {
  const playing = (hash) => stageAt(hash, { playing: true });
  const before = placeOf(playing("#step=3&layer=13"));
  assert.equal(waitBefore(playing("#step=4&layer=13"), before, 300), 700);
  assert.equal(waitBefore(playing("#step=4&layer=13"), before, 1200), 0);
  assert.equal(waitBefore(playing("#step=4&layer=12"), before, 300), 0);
  assert.equal(waitBefore(stageAt("#step=4&layer=13"), before, 300), 0, "it paused");
  const lesson = lessonAt(1, { playing: true });
  assert.equal(waitBefore(lesson, { ...placeOf(lesson), within: "/s/x#step=0&layer=2" }, 0), 1000);
});

test("a page that shows nothing yet, or another document, opens the presenter's", () => {
  assert.deepEqual(waysTo(place("/memory?model=x"), null), [{ open: "/memory?model=x" }]);
  assert.deepEqual(waysTo(place("/memory?model=x"), stageAt(HASH)), [{ open: "/memory?model=x" }]);
  assert.deepEqual(waysTo(place("/memory?model=x"), { address: "/memory", stage: null, lesson: null }), [
    { open: "/memory?model=x" },
  ]);
  assert.deepEqual(waysTo(place(`/s/abc${HASH}`), stageAt(HASH)), [{ open: `/s/abc${HASH}` }]);
});

test("another hash of the same document is followed without loading it again", () => {
  const here = { address: "/serving#pass=1", stage: null, lesson: null };
  assert.deepEqual(waysTo(place("/serving#pass=2"), here), [{ move: "/serving#pass=2" }]);
  assert.deepEqual(waysTo(place("/serving#pass=1"), here), []);
  assert.deepEqual(waysTo(place("/learn/x#2"), lessonAt(1)), [{ move: "/learn/x#2" }]);
});

test("the Stage goes to the step, closes what the presenter has closed, and plays or pauses", () => {
  const there = place(`/?run=a${HASH}`);
  assert.deepEqual(waysTo(there, stageAt(HASH)), []);
  const [go] = sent(waysTo(there, stageAt("#step=2&layer=13&head=8&view=head&focus=tokens&code=1")));
  assert.deepEqual(go, { type: "goto", focus: "", code: "0", step: "3", layer: "13", head: "8", view: "head" });
  assert.deepEqual(sent(waysTo({ ...there, playing: true }, stageAt(HASH))), [{ type: "play" }]);
  assert.deepEqual(sent(waysTo(there, stageAt(HASH, { playing: true }))), [{ type: "pause" }]);
});

test("another run is opened by the Stage that is there", () => {
  const ways = sent(waysTo(place("/?run=b#step=1", { playing: true }), stageAt(HASH)));
  assert.deepEqual(
    ways.map(({ type, run }) => [type, run]),
    [
      ["visit", "b"],
      ["goto", undefined],
      ["play", undefined],
    ],
  );
});

test("two pages that play may be one step apart", () => {
  const there = place("/?run=a#step=4&layer=13", { playing: true });
  assert.deepEqual(waysTo(there, stageAt("#step=3&layer=13", { playing: true })), []);
  assert.equal(waysTo(there, stageAt("#step=2&layer=13", { playing: true })).length, 1);
  assert.equal(waysTo(there, stageAt("#step=3&layer=12", { playing: true })).length, 1);
});

test("a page that is still loading is waited for", () => {
  const loading = { address: `/?run=a${HASH}`, stage: null, lesson: null };
  assert.deepEqual(waysTo(place(`/?run=a${HASH}`), loading), [{ wait: true }]);
  const lesson = place("/learn/x#1", { within: "/s/x#step=1" });
  assert.deepEqual(waysTo(lesson, { ...lessonAt(1), lesson: null }), [{ wait: true }]);
  assert.deepEqual(waysTo(lesson, lessonAt(1, { within: null })), [{ wait: true }]);
});

test("a lesson shows the answer first, and then the presenter's picture", () => {
  const there = place("/learn/x#1", { within: "/s/x#step=5&layer=2", answered: true });
  assert.deepEqual(sent(waysTo(there, lessonAt(1))), [{ type: "reveal" }]);
  const [within] = sent(waysTo(there, lessonAt(1, { answered: true })));
  assert.deepEqual(within, { type: "within", address: "/s/x#focus=&code=0&step=5&layer=2" });
  assert.deepEqual(waysTo(there, lessonAt(1, { answered: true, within: "/s/x#step=5&layer=2" })), []);
  const memory = place("/learn/x#1", { within: "/memory?model=a#x=1" });
  assert.deepEqual(sent(waysTo(memory, lessonAt(1))), [{ type: "within", address: "/memory?model=a#x=1" }]);
});

test("a room shows no room", () => {
  for (const address of ["/room", "/room/ABCD2345", "/room?show=/", "/room#x"]) {
    assert.equal(mayShow(address), false, address);
    assert.deepEqual(waysTo(place(address), null), [], address);
  }
  for (const address of ["/x/../room/ABCD2345", "/./room", "/%72oom/ABCD2345", "/%2e%2e/room", "/%zz"])
    assert.equal(mayShow(address), false, address);
  assert.equal(mayShow("/rooms-of-a-house"), true);
});

test("a room shows nothing outside this server, and no address that gives rights", () => {
  for (const address of [
    "//example.org/",
    "//",
    "/../other",
    "/x/..//example.org",
    "\\\\example.org/",
    "/\\example.org",
  ])
    assert.equal(mayShow(address), false, address);
  for (const address of ["/s/abc#token=x", "/room-like#step=1&secret=x", "/s/abc#tok%65n=x"])
    assert.equal(mayShow(address), false, address);
  assert.deepEqual(waysTo(place("/learn/x#2", { within: "/s/abc#token=x" }), lessonAt(2)), []);
  assert.equal(mayShow("/s/abc?a=token#step=3&token-view=x"), true);
});

test("a page at the end of a run does not begin it again because the presenter's still plays its last steps", () => {
  const atEnd = stageAt("#step=15&layer=13", { steps: 16, ended: true });
  const playing = place("/?run=a#step=14&layer=13", { playing: true });
  assert.deepEqual(
    sent(waysTo(playing, atEnd)).filter(({ type }) => type === "play"),
    [],
  );
  const before = stageAt("#step=13&layer=13", { steps: 16, ended: true });
  assert.deepEqual(sent(waysTo(playing, before)).at(-1), { type: "play" });
});
