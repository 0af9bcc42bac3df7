/** The API is in any window around the page or in those around the one that opened it; a system may lack it, refuse, or throw. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runTimeOf } from "../../../../kvscope/static/learn/scorm/run-time.js";

/** A window that other origins cannot read. */
const foreign = (parts) =>
  new Proxy(parts, {
    get: (of, name) => {
      if (name in of) return of[name];
      throw new Error("SecurityError");
    },
  });

/** Windows, each inside the next. @param {Object[]} windows from the inside out @returns {Object} the innermost */
function nested(...windows) {
  const top = windows[windows.length - 1];
  for (const [at, window] of windows.entries()) Object.assign(window, { parent: windows[at + 1] ?? window, top });
  return windows[0];
}

const api12 = { LMSInitialize: () => "true", LMSGetValue: (name) => `value of ${name}` };

test("the API of each version is found in a window around the page", () => {
  const inside = nested({}, {}, { API: api12, API_1484_11: { Initialize: () => "false" } });
  assert.equal(runTimeOf(inside, "1.2").start(), true);
  assert.equal(runTimeOf(inside, "2004").start(), false);
  assert.equal(runTimeOf(inside, "1.2").get("cmi.suspend_data"), "value of cmi.suspend_data");
});

test("the API is found around the window that opened the page's own", () => {
  const opener = nested({}, { API: api12 });
  assert.equal(runTimeOf(nested({}, { opener }), "1.2").start(), true);
});

test("windows of other origins are passed over", () => {
  const top = { API: api12 };
  const between = foreign({ parent: top });
  Object.assign(top, { parent: top, top });
  assert.equal(runTimeOf({ parent: between, top }, "1.2").start(), true);
});

test("without an API of its version there is no run-time", () => {
  assert.equal(runTimeOf(nested({}, {}), "1.2"), null);
  assert.equal(runTimeOf(nested({}, { API: api12 }), "2004"), null);
});

test("all values are sent, and one that is refused is told", () => {
  const sent = {};
  const API_1484_11 = {
    SetValue(name, value) {
      sent[name] = value;
      return name === "a" ? "false" : "true";
    },
    GetLastError: () => 406,
    GetErrorString: (code) => `error ${code}`,
  };
  const runTime = runTimeOf(nested({ API_1484_11 }), "2004");
  assert.deepEqual(runTime.set({ a: "1", b: "2" }), [{ name: "a", fault: "error 406" }]);
  assert.deepEqual(sent, { a: "1", b: "2" });
  assert.deepEqual(runTime.set({ b: "3" }), []);
  assert.equal(runTime.fault(), "error 406");
});

test("a system that names no error gives no words", () => {
  const LMSGetErrorString = () => "No error";
  for (const code of ["0", 0, undefined]) {
    const API = { LMSGetLastError: () => code, LMSGetErrorString };
    assert.equal(runTimeOf(nested({ API }), "1.2").fault(), "");
  }
});

test("a system that throws or lacks a function has not agreed", () => {
  const broken = () => {
    throw new Error("broken");
  };
  const runTime = runTimeOf(nested({ API: { LMSInitialize: broken } }), "1.2");
  assert.deepEqual([runTime.start(), runTime.commit(), runTime.get("x"), runTime.fault()], [false, false, "", ""]);
});
