import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { createSha256 } from "../../../../kvscope/static/engine/gguf/sha256.js";

const expected = (bytes) => createHash("sha256").update(bytes).digest("hex");

test("every length about a block has the digest of the standard, whatever the pieces", () => {
  for (let length = 0; length < 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => 7 * i + length);
    for (const piece of [1, 63, 64, 65, 1000]) {
      const sha256 = createSha256();
      for (let at = 0; at < length; at += piece) sha256.add(bytes.subarray(at, at + piece));
      assert.equal(sha256.digest(), expected(bytes), `${length} bytes in pieces of ${piece}`);
    }
  }
});

test("the known digest of abc", () => {
  const sha256 = createSha256();
  sha256.add(new TextEncoder().encode("abc"));
  assert.equal(sha256.digest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
