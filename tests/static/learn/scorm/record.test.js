/** A learning system gets completion, score, place and time by version, and gives back what it was given. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordIn, resultOf } from "../../../../kvscope/static/learn/scorm/record.js";

const PREFIX = { 1.2: "LMS", 2004: "" };
const END = { 1.2: "LMSFinish", 2004: "Terminate" };
const LESSON = { steps: [{ predict: null }, { predict: {} }, { predict: {} }] };

/** A window inside a learning system. `refuses`: functions and values. As in SCORM, each call but that of the error replaces the last error. */
function systemOf(version, values = {}, refuses = []) {
  const calls = [];
  let code = "0";
  const result = (name) => {
    const isRefused = refuses.includes(name);
    code = isRefused ? `${100 + refuses.indexOf(name)}` : "0";
    return isRefused ? "false" : "true";
  };
  const agree = (name) => () => {
    calls.push(name);
    return result(name);
  };
  const named = (name) => `${PREFIX[version]}${name}`;
  const api = {
    [named("Initialize")]: agree("Initialize"),
    [named("Commit")]: agree("Commit"),
    [END[version]]: agree("end"),
    [named("GetValue")]: (name) => values[name] ?? "",
    [named("SetValue")]: (name, value) => {
      if (!refuses.includes(name)) values[name] = value;
      return result(name);
    },
    [named("GetLastError")]: () => code,
    [named("GetErrorString")]: (of) => (of === "0" ? "No error" : `Error ${of}`),
  };
  const window = new EventTarget();
  Object.assign(window, {
    parent: window,
    top: window,
    location: { reload: () => calls.push("reload") },
    [version === "1.2" ? "API" : "API_1484_11"]: api,
  });
  return { window, values, calls };
}

const own = { read: () => ({ step: 1, done: [], answered: [] }), write: () => null };

function recordOf({ window }, version, lesson = LESSON, clock = { ms: 0 }) {
  return recordIn({ window, version, lesson, own, onDisk: false, now: () => clock.ms });
}

const HALF = { step: 1, done: [], answered: [1], given: { 1: { given: "“it”", right: true } } };
const WHOLE = { step: 2, done: [], answered: [1, 2], given: { ...HALF.given, 2: { given: "b", right: false } } };

test("SCORM 1.2 gets status, score, place and time", () => {
  const system = systemOf("1.2");
  const clock = { ms: 0 };
  const record = recordOf(system, "1.2", LESSON, clock);
  assert.equal(record.read(), undefined);
  record.write({ step: 0, done: [], answered: [], given: {} });
  assert.equal(system.values["cmi.core.lesson_status"], "incomplete");
  assert.equal("cmi.core.score.raw" in system.values, false);
  record.write(HALF);
  clock.ms = 3_723_450;
  assert.equal(record.write(WHOLE), null);
  const { "cmi.suspend_data": data, ...values } = system.values;
  assert.deepEqual(values, {
    "cmi.core.lesson_location": "3",
    "cmi.core.lesson_status": "completed",
    "cmi.core.score.raw": "50",
    "cmi.core.score.min": "0",
    "cmi.core.score.max": "100",
    "cmi.core.session_time": "0001:02:03.45",
    "cmi.core.exit": "suspend",
  });
  assert.match(data, /^[\x20-\x7e]*$/);
});

test("SCORM 2004 gets completion, progress, scaled score, place and time", () => {
  const system = systemOf("2004");
  const clock = { ms: 0 };
  const record = recordOf(system, "2004", LESSON, clock);
  record.write({ step: 0, done: [], answered: [], given: {} });
  clock.ms = 65_500;
  record.write(HALF);
  const { "cmi.suspend_data": _data, ...values } = system.values;
  assert.deepEqual(values, {
    "cmi.location": "2",
    "cmi.completion_status": "incomplete",
    "cmi.progress_measure": "0.60",
    "cmi.score.raw": "50",
    "cmi.score.min": "0",
    "cmi.score.max": "100",
    "cmi.score.scaled": "0.50",
    "cmi.session_time": "PT65.50S",
    "cmi.exit": "suspend",
  });
});

test("a later visit gets back what the earlier one gave, and the steps seen count", () => {
  for (const version of ["1.2", "2004"]) {
    const first = systemOf(version);
    const before = recordOf(first, version);
    before.write({ step: 0, done: [], answered: [], given: {} });
    before.write(HALF);
    const later = recordOf(systemOf(version, first.values), version);
    const { seen, ...reached } = later.read();
    assert.deepEqual([reached, seen], [HALF, [0, 1]]);
    later.write(WHOLE);
    assert.equal(first.values["cmi.core.lesson_status"] ?? first.values["cmi.completion_status"], "completed");
  }
});

test("data of another origin begins the lesson anew", () => {
  for (const text of ["", "{", "null", "[1]", '{"done": 3}']) {
    assert.equal(recordOf(systemOf("1.2", { "cmi.suspend_data": text }), "1.2").read(), undefined);
  }
});

test("answers too long for the system lose their words and keep whether they were right", () => {
  const system = systemOf("1.2");
  const given = { 1: { given: "x".repeat(4000), right: true }, 2: { given: "“", right: false } };
  recordOf(system, "1.2").write({ ...WHOLE, given });
  assert.ok(system.values["cmi.suspend_data"].length < 4096);
  const later = recordOf(system, "1.2").read();
  assert.deepEqual(later.given, { 1: { given: "", right: true }, 2: { given: "", right: false } });
  const roomy = systemOf("2004");
  recordOf(roomy, "2004").write({ ...WHOLE, given });
  assert.deepEqual(recordOf(roomy, "2004").read().given, given);
});

test("leaving the page tells the time and ends the visit", () => {
  const clock = { ms: 0 };
  const system = systemOf("2004");
  recordOf(system, "2004", LESSON, clock);
  clock.ms = 1000;
  system.window.dispatchEvent(new Event("pagehide"));
  assert.equal(system.values["cmi.session_time"], "PT1.00S");
  assert.deepEqual(system.calls, ["Initialize", "Commit", "end"]);
});

test("a lesson without predictions is complete once all is seen, and has no score", () => {
  const lesson = { steps: [{ predict: null }, { predict: null }] };
  const reached = { step: 1, done: [], answered: [] };
  const half = resultOf(lesson, reached, new Set([1]));
  assert.deepEqual(half, { step: 1, complete: false, share: 0.5, score: null });
  assert.equal(resultOf(lesson, reached, new Set([0, 1])).complete, true);
});

test("a revealed answer completes and does not score", () => {
  const reached = { step: 2, done: [], answered: [1, 2], given: { 1: { given: "", right: false } } };
  const { complete, score } = resultOf(LESSON, reached, new Set([0, 1, 2]));
  assert.deepEqual([complete, score], [true, 0]);
});

test("without a system the device keeps the progress, and each write says so", () => {
  const window = Object.assign(new EventTarget(), {});
  Object.assign(window, { parent: window, top: window });
  for (const [onDisk, words] of /** @type {[boolean, RegExp][]} */ ([
    [false, /SCORM 1\.2/],
    [true, /from a disk/],
  ])) {
    const written = [];
    const write = (reached) => written.push(reached) && null;
    const record = recordIn({ window, version: "1.2", lesson: LESSON, own: { ...own, write }, onDisk });
    assert.match(record.write(HALF), words);
    assert.deepEqual([record.read(), written], [own.read(), [HALF]]);
  }
});

test("a system that does not start or does not store is named with its own words", () => {
  assert.match(recordOf(systemOf("1.2", {}, ["Initialize"]), "1.2").write(HALF), /Error 100/);
  assert.match(recordOf(systemOf("1.2", {}, ["Commit"]), "1.2").write(HALF), /Error 100/);
});

test("a status or a progress that is refused is named with the words about it", () => {
  for (const [version, status] of [
    ["1.2", "cmi.core.lesson_status"],
    ["2004", "cmi.completion_status"],
  ]) {
    assert.match(recordOf(systemOf(version, {}, ["x", status]), version).write(HALF), /Error 101/);
    const both = ["Commit", "cmi.suspend_data"];
    assert.match(recordOf(systemOf(version, {}, both.slice(1)), version).write(HALF), /Error 100/);
    assert.match(recordOf(systemOf(version, {}, both), version).write(HALF), /Error 101/);
  }
});

test("a value that is refused and not needed leaves the progress recorded", () => {
  assert.equal(recordOf(systemOf("1.2", {}, ["cmi.core.score.min", "cmi.core.exit"]), "1.2").write(HALF), null);
  assert.equal(recordOf(systemOf("2004", {}, ["cmi.progress_measure"]), "2004").write(HALF), null);
});

test("a page that comes back from the browser's cache is loaded again", () => {
  const system = systemOf("1.2");
  recordOf(system, "1.2");
  const shown = (persisted) => Object.assign(new Event("pageshow"), { persisted });
  system.window.dispatchEvent(shown(false));
  assert.deepEqual(system.calls, ["Initialize"]);
  system.window.dispatchEvent(shown(true));
  assert.deepEqual(system.calls, ["Initialize", "reload"]);
});
