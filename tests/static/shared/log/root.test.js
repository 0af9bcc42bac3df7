import assert from "node:assert/strict";
import { test } from "node:test";
import { fileOfSite, pathOf, rootOf, under } from "../../../../kvscope/static/shared/log/root.js";

const opened = (baseURI, root) => ({ baseURI, documentElement: { dataset: { root } } });

test("the relative address of the root works below any path of a proxy", () => {
  assert.equal(rootOf(opened("https://kv.example/?run=a#step=1", "./")), "/");
  assert.equal(rootOf(opened("https://kv.example/s/abc", "../")), "/");
  assert.equal(
    rootOf(opened("https://hub.example/user/a%40b/proxy/5000/memory?gpus=2", "./")),
    "/user/a%40b/proxy/5000/",
  );
  assert.equal(rootOf(opened("https://kv.example/kv/embed/by-hand/a", "../../")), "/kv/");
});

test("extra slashes at the start of a path lead to no other host", () => {
  assert.equal(rootOf(opened("https://kv.example//kv/s/abc", "../")), "/kv/");
  assert.equal(rootOf(opened("https://kv.example//memory", "./")), "/");
});

test("a page that is a file has no root", () => {
  assert.equal(rootOf(opened("file:///home/ada/kvscope-abc.html", undefined)), "/");
});

test("paths of the server are below its root", () => {
  assert.equal(under("/", "/kv/"), "/kv/");
  assert.equal(under("/?run=a1#step=2", "/kv/"), "/kv/?run=a1#step=2");
  assert.equal(under("/s/abc", "/"), "/s/abc");
});

test("in a static site a path leads to its file, with its parameters and hash", () => {
  assert.equal(fileOfSite("/"), "/index.html");
  assert.equal(fileOfSite("/?run=a1#step=2"), "/index.html?run=a1#step=2");
  assert.equal(fileOfSite("/s/abc?view=head#step=3"), "/s/abc.html?view=head#step=3");
  assert.equal(fileOfSite("/serving#pass=1.5"), "/serving.html#pass=1.5");
  assert.equal(fileOfSite("/static/embed.js"), "/static/embed.js");
  assert.equal(under("/learn/01-what", "/below/", true), "/below/learn/01-what.html");
});

test("the location of a file gives the path that leads to it", () => {
  assert.equal(pathOf("/kv/s/abc", "/kv/", false), "/s/abc");
  assert.equal(pathOf("/kv/", "/kv/", false), "/");
  assert.equal(pathOf("/kv/s/abc.html", "/kv/", true), "/s/abc");
  assert.equal(pathOf("/kv/index.html", "/kv/", true), "/");
  assert.equal(pathOf("/kv/", "/kv/", true), "/");
  assert.equal(pathOf("/kv/s/abc", "/kv/", true), "/s/abc", "a host that leaves the ending out");
});
