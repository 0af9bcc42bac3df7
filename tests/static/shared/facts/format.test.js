import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../../../kvscope/static/shared/facts/format.js";
import { token } from "../../support/wire.js";

/** Each text, or each list of bytes in hex, is shown so. */
function assertShown(texts, tokenOf = token) {
  for (const [given, shown] of Object.entries(texts)) assert.equal(format.tokenText(tokenOf(given)), shown, given);
}

test("a token shows its spaces, newlines and tabs", () => {
  assertShown({ " animal": "·animal", "    ": "····", "\n\n": "⏎⏎", "\tx": "⇥x" });
});

test("bytes that are not UTF-8 alone are written as escapes, others as characters", () => {
  const ofBytes = (bytes) => ({ id: 1, text: "\ufffd", bytes, special: false });
  assertShown({ f09f: "\\xF0\\x9F", "20f09f": "·\\xF0\\x9F", c3a9: "é", f09f97bc: "🗼" }, ofBytes);
  assertShown({ "97bc41": "\\x97\\xBCA", c041: "\\xC0A", eda080: "\\xED\\xA0\\x80" }, ofBytes);
});

test("control characters, direction marks and zero-width characters are visible", () => {
  assertShown({ "\u0007": "\\x07", "a\u202eb": "a\\u{202E}b", "\u200b": "\\u{200B}", "\u00a0": "␣" });
  assertShown({ "\u3000x": "\\u{3000}x", "\ufeff": "\\u{FEFF}", "\u0301": "◌\u0301" });
});

test("markup stays text, a special token shows its name, and an empty token is visible", () => {
  assertShown({ "<b>&amp;</b>": "<b>&amp;</b>", "": "∅" });
  assert.equal(format.tokenText({ id: 1, text: "<|im_start|>", bytes: "00", special: true }), "<|im_start|>");
});

test("a long token is cut at whole characters", () => {
  assert.equal(format.tokenLabel(token("🗼".repeat(200)), 5), "🗼🗼🗼🗼…");
  assert.equal(format.tokenLabel(token("abcde"), 5), "abcde");
});

test("a quoted token loses its leading space, unless it is only a space", () => {
  assert.equal(format.quoted(token(" it")), "“it”");
  assert.equal(format.quoted(token(" ")), "“·” (a space)");
});

test("numbers have separators and a true minus, and there is no minus zero", () => {
  assert.equal(format.integer(1474560), "1,474,560");
  assert.equal(format.fixed(-2.5, 2), "−2.50");
  assert.equal(format.fixed(-0.001, 2), "0.00");
  assert.equal(format.significant(0), "0");
  assert.equal(format.significant(12.345), "12.3");
  assert.equal(format.significant(22987.4), "22,987");
});

test("right-to-left letters do not reorder the sentence around them", () => {
  const quoted = (text) => format.quoted({ text, bytes: Buffer.from(text).toString("hex"), special: false });
  assert.equal(quoted(" \u05e9\u05dc"), "“\u2068\u05e9\u05dc\u2069”");
  assert.equal(quoted(" it"), "“it”");
});

test("a share above zero never reads as zero", () => {
  assert.equal(format.percent(0.222), "22.2\u202f%");
  assert.equal(format.percent(0), "0.0\u202f%");
  assert.equal(format.percent(0.0001), "<\u202f0.1\u202f%");
  assert.equal(format.percent(0.7506, 0), "75\u202f%");
});

test("bytes, counts and times have their unit", () => {
  assert.equal(format.bytes(46080), "46,080\u202fB");
  assert.equal(format.bytesShort(538060416), "538\u202fMB");
  assert.equal(format.bytesShort(46080), "46.1\u202fkB");
  assert.equal(format.bytesShort(512), "512\u202fB");
  assert.equal(format.short(2.7e8, "FLOP"), "270\u202fMFLOP");
  assert.equal(format.milliseconds(0.4213), "0.42\u202fms");
  assert.equal(format.milliseconds(8.4), "8.4\u202fms");
  assert.equal(format.milliseconds(1240), "1.24\u202fs");
});
