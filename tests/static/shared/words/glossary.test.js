import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const STATIC = new URL("../../../../static/", import.meta.url);
const glossary = JSON.parse(readFileSync(new URL("shared/words/glossary.json", STATIC), "utf8"));
const MOST_WORDS = 45;

const modules = readdirSync(STATIC, { recursive: true }).filter(
  (path) => path.endsWith(".js") && !/^(vendor|node_modules)/.test(path),
);
const sources = modules.map((path) => readFileSync(new URL(path, STATIC), "utf8"));

test("every definition is one or two sentences and short", () => {
  for (const [id, { name, text }] of Object.entries(glossary)) {
    const sentences = text.match(/[.!?](?=\s|$)/g) ?? [];
    assert.ok(sentences.length === 1 || sentences.length === 2, `${id}: ${sentences.length} sentences`);
    assert.ok(text.split(/\s+/).length <= MOST_WORDS, id);
    assert.match(text, /[.]$/, id);
    assert.ok(name.length > 0 && name.length < 40, id);
  }
});

test("every term the page uses is in the glossary", () => {
  const used = sources.flatMap((source) =>
    [...source.matchAll(/<\$\{Term\}\s+id="([^"]+)"/g)].map((match) => match[1]),
  );
  const named = sources.flatMap((source) => [...source.matchAll(/\bterm(?:: |=)"([^"]+)"/g)].map((match) => match[1]));
  const ids = [...used, ...named];
  assert.ok(ids.length > 20, `${ids.length} terms found`);
  for (const id of ids) assert.ok(Object.hasOwn(glossary, id), id);
});

test("the glossary covers what the page talks about", () => {
  const names = Object.values(glossary).map(({ name }) => name.toLowerCase());
  const wanted =
    "token, token id, embedding, residual stream, layer, attention head, query, key, value, attention weight, softmax, causal mask, kv cache, kv head, gqa, mha, mqa, prefill, decode, ttft, logit, temperature, top-k, top-p, greedy, seed, entropy, norm, rope, mlp, lm head, logit lens, block table, reference count, copy-on-write, flop, arithmetic intensity, fp32, bf16, int8, measured, computed, estimated, beam search, branch, eos";
  for (const word of wanted.split(", "))
    assert.ok(
      names.some((name) => name.startsWith(word)),
      word,
    );
});
