/** Requests about rooms: one that hangs, or whose answer breaks off, counts as lost. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createApi } from "../../../kvscope/static/room/api.js";

/** Requests by an API whose `fetch` is `answer`. */
function apiOf(answer) {
  Object.assign(globalThis, { window: { fetch: answer } });
  return createApi({});
}

test("a request that hangs ends as a lost connection, which is tried again", async (t) => {
  const aborter = new AbortController();
  t.mock.method(AbortSignal, "timeout", () => aborter.signal);
  const hangs = (_path, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const sent = apiOf(hangs).presenting("ABCD2345", "s").show({});
  aborter.abort();
  await assert.rejects(sent, { name: "Problem", status: 0 });
});

test("an answer that breaks off counts as lost too", async () => {
  const broken = new ReadableStream({ start: (controller) => controller.error(new TypeError("reset")) });
  await assert.rejects(apiOf(async () => new Response(broken)).room("ABCD2345"), { name: "Problem", status: 0 });
});

test("the room is what the server answers, and without a body it is nothing", async () => {
  assert.deepEqual(await apiOf(async () => Response.json({ seq: 3 })).room("ABCD2345"), { seq: 3 });
  const ended = apiOf(async () => new Response(null, { status: 204 })).presenting("ABCD2345", "s");
  assert.equal(await ended.end(), null);
});
