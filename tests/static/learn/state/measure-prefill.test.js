import assert from "node:assert/strict";
import { test } from "node:test";
import { measurePrefill } from "../../../../kvscope/static/learn/state/measure-prefill.js";

test("a prompt is read without the cache of an earlier run, and its run is deleted at the end", async () => {
  const done = [];
  const states = ["queued", "running", "closed"];
  const client = {
    async start({ reuse, max_new_tokens }) {
      done.push(["start", reuse, max_new_tokens]);
      return { id: "a" };
    },
    async status() {
      const status = states.shift();
      done.push([status]);
      return { status };
    },
    async remove(id) {
      done.push(["remove", id]);
    },
  };
  await measurePrefill(client, async () => {});
  assert.deepEqual(done, [["start", false, 1], ["queued"], ["running"], ["closed"], ["remove", "a"]]);
});

test("a refusal of the run is passed on", async () => {
  const client = { start: () => Promise.reject(new Error("too many")) };
  await assert.rejects(
    measurePrefill(client, async () => {}),
    /too many/,
  );
});
