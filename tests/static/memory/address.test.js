import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST, readSearch, searchOf } from "../../../kvscope/static/memory/address.js";

test("an address leaves out first inputs and is read back as it was written", () => {
  assert.equal(searchOf({ texts: FIRST, run: null, session: null }), "");
  const texts = { ...FIRST, model: "qwen2.5-72b", context: "131,072", cache: "int4-32" };
  const written = { texts, run: "ab12", session: null };
  const search = searchOf(written);
  assert.equal(search, "?model=qwen2.5-72b&context=131,072&cache=int4-32&run=ab12");
  assert.deepEqual(readSearch(search), written);
});

test("a pasted config takes the place of a model", () => {
  const texts = { ...FIRST, model: "gpt2", config: '{"n_layer":2}' };
  const search = searchOf({ texts, run: null, session: null });
  assert.equal(search, "?config=%7B%22n_layer%22:2%7D");
  assert.equal(readSearch(search).texts.config, texts.config);
});

test("an address from before there was a choice of layouts and a GPU of one's own opens with the first ones", () => {
  const { texts } = readSearch("?model=llama-3-8b&requests=8&context=8192&gpu=h200&gpus=16&cache=fp8&weights=int4-32");
  assert.deepEqual([texts.gpus, texts.tp, texts.experts], ["16", "all", "divided"]);
  const gpu = { gpu: "own", memory: "24", bandwidth: "936", peak: "71.2" };
  const own = { ...FIRST, ...gpu, gpus: "8", tp: "2", experts: "whole" };
  const search = searchOf({ texts: own, run: null, session: null });
  assert.equal(search, "?gpu=own&gpus=8&tp=2&experts=whole&memory=24&bandwidth=936&peak=71.2");
  assert.deepEqual(readSearch(search).texts, own);
});

test("what was typed stays as it is, and what is no id is no run", () => {
  const { texts, run, session } = readSearch("?context=1e12&gpus=&run=../../etc&session=a%20b&evil=1");
  assert.deepEqual([texts.context, texts.gpus, run, session], ["1e12", "", null, null]);
  assert.equal("evil" in texts, false);
});
