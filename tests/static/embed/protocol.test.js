import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, embedOfSearch, sizeMessages, stepMessage } from "../../../kvscope/static/embed/protocol.js";

const DEFAULTS = { link: {}, hide: [], theme: "auto", autoplay: false, speed: 1 };

test("an address without parameters has the defaults", () => {
  assert.deepEqual(embedOfSearch(""), DEFAULTS);
  assert.deepEqual(embedOfSearch("?unknown=1&constructor=2&__proto__=3"), DEFAULTS);
});

test("an address can have every parameter", () => {
  const all =
    "?step=3&layer=13&head=8&query=8&key=1&view=pair&hide=prompt,controls,header,notes&theme=dark&autoplay=1&speed=0.5";
  assert.deepEqual(embedOfSearch(all), {
    link: { step: 3, layer: 13, head: 8, query: 8, key: 1, view: "pair" },
    hide: ["prompt", "controls", "header", "notes"],
    theme: "dark",
    autoplay: true,
    speed: 0.5,
  });
});

test("numbers out of bounds are clamped, and texts that are no numbers are ignored", () => {
  assert.deepEqual(embedOfSearch("?step=-3&layer=99999999999999999999999").link, { step: 0, layer: 999_999 });
  for (const bad of ["", "x", "1.5", "1e3", "0x1", " 1", "١", "NaN", "1,2", "+2"]) {
    assert.deepEqual(embedOfSearch(`?step=${encodeURIComponent(bad)}`).link, {}, bad);
  }
});

test("an unknown speed becomes the nearest offered one", () => {
  const speeds = { 0: 0.25, "-7": 0.25, 0.3: 0.25, 3.5: 4, 1000: 4, ".5": 0.5, fast: 1, "": 1, "1e9": 1 };
  for (const [asked, speed] of Object.entries(speeds))
    assert.equal(embedOfSearch(`?speed=${asked}`).speed, speed, asked);
});

test("unknown words are ignored in every parameter", () => {
  assert.deepEqual(embedOfSearch("?view=constructor&theme=pink&autoplay=yes&hide=all"), DEFAULTS);
  assert.deepEqual(embedOfSearch("?hide=notes,all,,header").hide, ["header", "notes"]);
});

test("autoplay accepts the words that addresses use", () => {
  for (const on of ["autoplay", "autoplay=", "autoplay=1", "autoplay=true"])
    assert.equal(embedOfSearch(on).autoplay, true, on);
  for (const off of ["autoplay=0", "autoplay=false", "autoplay=1&autoplay=0"])
    assert.equal(embedOfSearch(off).autoplay, false, off);
});

test("of a repeated parameter, the last valid value counts", () => {
  assert.deepEqual(embedOfSearch("?step=1&step=2&step=x").link, { step: 2 });
});

test("a command is an object of this protocol with a known name", () => {
  for (const type of ["hello", "play", "pause"]) assert.deepEqual(commandOf({ kvscope: 1, type, more: 1 }), { type });
  for (const data of [null, undefined, "play", 1, [], { type: "play" }]) assert.equal(commandOf(data), null);
  assert.equal(commandOf({ kvscope: 2, type: "play" }), null);
  for (const type of ["__proto__", ["play"]]) assert.equal(commandOf({ kvscope: 1, type }), null);
});

test("a page around can choose one of the themes", () => {
  assert.deepEqual(commandOf({ kvscope: 1, type: "theme", theme: "dark" }), { type: "theme", theme: "dark" });
  for (const theme of ["auto", "blue", null]) assert.equal(commandOf({ kvscope: 1, type: "theme", theme }), null);
});

test("a place is read like an address, from numbers and from text", () => {
  const goTo = (place) => commandOf({ kvscope: 1, type: "goto", ...place }).link;
  const place = { step: 2, layer: "7", head: -1, query: 1.5, key: null, view: "head", run: "x" };
  assert.deepEqual(goTo(place), { step: 2, layer: 7, head: 0, view: "head" });
  assert.deepEqual(goTo({ step: Number.NaN, layer: Infinity, head: {}, view: "<b>" }), {});
});

test("a step message has only numbers and a view", () => {
  const selection = { layer: 13, head: 8, query: null, key: 1, view: "head" };
  const run = { id: "secret", steps: [{}, {}, {}], open: { prompt: "secret" } };
  const message = stepMessage({ run, step: 2, selection, playing: false, prompt: "secret" });
  assert.deepEqual(message, { kvscope: 1, type: "stepchange", step: 2, steps: 3, ...selection, playing: false });
  assert.equal(stepMessage({ run: null, step: 0, selection, playing: false }), null);
  assert.equal(stepMessage({ run: { steps: [] }, step: 0, selection, playing: false }), null);
});

test("a height is sent in both protocols", () => {
  assert.deepEqual(sizeMessages(640), [
    { kvscope: 1, type: "size", height: 640 },
    { subject: "lti.frameResize", height: 640 },
  ]);
});
