import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const STATIC = new URL("../../../../static/", import.meta.url);
const glossary = JSON.parse(readFileSync(new URL("shared/words/glossary.json", STATIC), "utf8"));

const modules = readdirSync(STATIC, { recursive: true }).filter(
  (path) => path.endsWith(".js") && !/^(vendor|node_modules)/.test(path),
);
const sources = modules.map((path) => readFileSync(new URL(path, STATIC), "utf8"));

test("every term the page uses is in the glossary", () => {
  const used = sources.flatMap((source) =>
    [...source.matchAll(/<\$\{Term\}\s+id="([^"]+)"/g)].map((match) => match[1]),
  );
  const named = sources.flatMap((source) => [...source.matchAll(/\bterm(?:: |=)"([^"]+)"/g)].map((match) => match[1]));
  const ids = [...used, ...named];
  assert.ok(ids.length > 20, `${ids.length} terms found`);
  for (const id of ids) assert.ok(Object.hasOwn(glossary, id), id);
});
