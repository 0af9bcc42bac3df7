import assert from "node:assert/strict";
import { test } from "node:test";
import { storageOr } from "../../../../kvscope/static/shared/state/storage.js";
import { tokenOf } from "../../../../kvscope/static/shared/state/token.js";

const at = (hash) => {
  const replaced = [];
  const history = { replaceState: (_state, _title, address) => replaced.push(address) };
  return { replaced, window: { location: { pathname: "/", search: "?run=a", hash }, history } };
};

test("a token in the address is kept on the device and taken out of the address", () => {
  const storage = storageOr(() => null);
  const { window, replaced } = at("#token=let-me-in");
  assert.equal(tokenOf(window, storage), "let-me-in");
  assert.deepEqual(replaced, ["/?run=a"]);
  assert.equal(tokenOf(at("#step=3").window, storage), "let-me-in");
});

test("an address without one is left as it is", () => {
  const { window, replaced } = at("#step=3&token=let-me-in");
  assert.equal(
    tokenOf(
      window,
      storageOr(() => null),
    ),
    null,
  );
  assert.deepEqual(replaced, []);
});
