import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogs } from "../../../../kvscope/static/engine/page/logs.js";
import { FrameSplitter } from "../../../../kvscope/static/shared/log/frames.js";

const bytes = (...values) => new Uint8Array(values);

async function read(stream) {
  const splitter = new FrameSplitter();
  const payloads = [];
  for await (const chunk of stream) payloads.push(...splitter.push(chunk).map((each) => [...each]));
  return payloads;
}

test("a reader gets the frames after the one it has, and later ones until the log is closed", async () => {
  const logs = createLogs();
  logs.begin("a", [bytes(1), bytes(2)]);
  const reading = read(logs.stream("a", 0));
  await Promise.resolve();
  logs.add("a", [bytes(3)], false);
  logs.add("a", [bytes(4, 4)], true);
  assert.deepEqual(await reading, [[2], [3], [4, 4]]);
});

test("the stream of a removed log ends", async () => {
  const logs = createLogs();
  logs.begin("a");
  const reading = read(logs.stream("a", -1));
  logs.remove("a");
  assert.deepEqual(await reading, []);
  assert.equal(logs.has("a"), false);
});

test("a reader that stops waiting ends its stream", async () => {
  const logs = createLogs();
  logs.begin("a");
  const aborter = new AbortController();
  const reading = read(logs.stream("a", -1, aborter.signal));
  aborter.abort();
  assert.deepEqual(await reading, []);
});

test("beyond its bytes, the logs that ended and were read longest ago make room for the next run", () => {
  const logs = createLogs({ mostBytes: 10 });
  for (const run of ["computes", "read", "ended"]) {
    logs.begin(run);
    logs.add(run, [bytes(1, 2, 3, 4)], run !== "computes");
  }
  logs.stream("read", -1);
  logs.begin("next");
  assert.deepEqual(logs.runs(), ["computes", "read", "next"]);
});
