import assert from "node:assert/strict";
import { test } from "node:test";
import { rootOf, under } from "../../../../static/shared/log/root.js";

const opened = (baseURI, root) => ({ baseURI, documentElement: { dataset: { root } } });

test("the way that a page is told leads up to the root, whatever path a proxy has put before it", () => {
  assert.equal(rootOf(opened("https://kv.example/?run=a#step=1", "./")), "/");
  assert.equal(rootOf(opened("https://kv.example/s/abc", "../")), "/");
  assert.equal(
    rootOf(opened("https://hub.example/user/a%40b/proxy/5000/memory?gpus=2", "./")),
    "/user/a%40b/proxy/5000/",
  );
  assert.equal(rootOf(opened("https://kv.example/kv/embed/by-hand/a", "../../")), "/kv/");
});

test("slashes too many in front of the path lead to no other host", () => {
  assert.equal(rootOf(opened("https://kv.example//kv/s/abc", "../")), "/kv/");
  assert.equal(rootOf(opened("https://kv.example//memory", "./")), "/");
});

test("a page that is a file is told none", () => {
  assert.equal(rootOf(opened("file:///home/ada/kvscope-abc.html", undefined)), "/");
});

test("what the server has is below its root", () => {
  assert.equal(under("/", "/kv/"), "/kv/");
  assert.equal(under("/?run=a1#step=2", "/kv/"), "/kv/?run=a1#step=2");
  assert.equal(under("/s/abc", "/"), "/s/abc");
});
