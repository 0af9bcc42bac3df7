import assert from "node:assert/strict";
import { test } from "node:test";
import { rulesFor } from "../../../../kvscope/static/stage/focus/rules.js";

const rules = (...focus) => rulesFor(focus, (name) => name.replace(".", "\\."));

test("parts of the page that are not named are hidden, with the view", () => {
  const hidden = rules("sentence", "time");
  for (const place of [".panel-map", ".panel-kv-cache", ".panel-inspector,", ".play-row"]) {
    assert.ok(`${hidden.replace("{", ",")}`.includes(`:root[data-focus] ${place}`), place);
  }
  assert.ok(!hidden.includes(".panel-time"));
  assert.ok(!hidden.includes(".timeline > :not(.play-row)"));
});

test("of a view, what neither is, holds nor is inside a named part is hidden", () => {
  const hidden = rules("attn.k", "tokens");
  const parts = ':is([data-names~="attn\\.k"],[data-holds~="attn\\.k"],[data-names~="tokens"],[data-holds~="tokens"])';
  assert.ok(hidden.includes(`.view :not(:has(${parts}), ${parts}, ${parts} *, :has(dialog[open]), dialog, dialog *)`));
});

test("a whole view hides nothing of itself, whatever else is named", () => {
  assert.ok(!rules("inspector", "tokens").includes(".view"));
});
