import assert from "node:assert/strict";
import { test } from "node:test";
import { pictureInWords, rowsOf, textOf } from "../../../../kvscope/static/shared/facts/card-picture.js";
import { assertEach, pluck } from "../../support/lists.js";

const attention = (tokens, key) => {
  const shades = tokens.flatMap((_, query) => Array.from({ length: query + 1 }, (_, at) => (query * 16 + at) % 256));
  return { kind: "attention", tokens, key, shades: Buffer.from(shades).toString("base64") };
};

test("row q of a head has q + 1 keys", () => {
  const rows = rowsOf(attention(["a", "b", "c"], 0));
  assertEach(rows, (row) => [...row], [[0], [16, 17], [32, 33, 34]]);
});

test("the text has the attention of the last row", () => {
  const text = textOf(attention(["The", " animal", "\n", " it"], 1));
  assert.deepEqual(pluck(text, "text"), ["The", " animal", "⏎", " it"]);
  assert.deepEqual(pluck(text, "role"), [null, "key", null, "query"]);
  assert.deepEqual(pluck(text, "shade"), [48, 49, 50, 51]);
});

test("a long text shows its end, with the right shades", () => {
  const tokens = Array.from({ length: 40 }, (_, at) => ` t${at}`);
  const text = textOf(attention(tokens, 30));
  assert.equal(text.length, 31);
  assert.deepEqual(text[0], { text: "… ", shade: null, role: null });
  assert.equal(text[1].text, " t10");
  assert.equal(text.at(-1).role, "query");
  assert.equal(text[21].role, "key");
});

test("a sampled token is shaded by its probability, the prompt is not", () => {
  const text = textOf({ kind: "chances", tokens: ["My", " food", " is"], prompt: 1, shares: [0.25, 1] });
  assert.deepEqual(pluck(text, "shade"), [null, 128, 255]);
});

test("the picture has a sentence", () => {
  const picture = {
    ...attention(["The", " animal", " it"], 1),
    shades: Buffer.from([255, 0, 255, 0, 255, 0]).toString("base64"),
  };
  assert.match(pictureInWords(picture), /“it” puts 100.% on “animal”/);
  const chances = { kind: "chances", shares: [0.5, 0.01], most: [0.5, 0.25] };
  assert.match(pictureInWords(chances), /between 1\.0.% and 50\.0.%, .* between 25\.0.% and 50\.0.%/);
});
