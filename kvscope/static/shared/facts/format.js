/**
 * Formats numbers, units and tokens for the page. Pure; returns plain strings, always set as textContent.
 *
 * app/numbers.py writes some of the same numbers, into lessons, cards and messages.
 */

import { language, msg } from "../words/msg.js";

const GROUPED = new Intl.NumberFormat(language);
/** `en-GB` puts no comma before "and". */
const LIST = new Intl.ListFormat(language === "en" ? "en-GB" : language);
/** @type {Intl.NumberFormat[]} by number of decimals */
const DECIMALS = [];
/** @type {Intl.NumberFormat[]} the same, with commas in thousands */
const GROUPED_DECIMALS = [];
/** @type {[number, string][]} */
const SHORT_UNITS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
const MINUS = "\u2212";
const NARROW_SPACE = "\u202f";
const LABEL_CHARS = 14;

/** Control characters, unusual spaces, and invisible characters that change nearby text (zero width, direction marks). */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Z}]/u;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const COMBINING = /^\p{M}/u;
/** Blocks of right-to-left scripts (Unicode, DerivedBidiClass). */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** @returns {string} 46080 → "46,080" */
export function integer(value) {
  return withMinus(GROUPED.format(Math.round(value) + 0)); // without a minus zero
}

/** @returns {string} a number with `digits` decimals and a true minus sign; `grouped`: with commas in thousands */
export function fixed(value, digits, grouped = false) {
  // `toFixed` rounds, as Intl rounds some ties the other way; `|| 0` removes a minus zero.
  const rounded = Number(value.toFixed(digits)) || 0;
  return Number.isFinite(value) ? withMinus(decimals(digits, grouped).format(rounded)) : withMinus(String(value));
}

function decimals(digits, grouped) {
  const by = grouped ? GROUPED_DECIMALS : DECIMALS;
  by[digits] ??= new Intl.NumberFormat(language, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: grouped,
  });
  return by[digits];
}

/** @returns {string} the number of `fixed`; a value other than 0 that rounds to 0 becomes a bound: "<0.001" */
export function bounded(value, digits) {
  const least = 10 ** -digits;
  if (value === 0 || Math.abs(value) >= least / 2) return fixed(value, digits);
  return value > 0 ? `<${fixed(least, digits)}` : `>${fixed(-least, digits)}`;
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** @returns {string} a very small or large number as "3 × 10⁻⁹"; 0 as "0" */
export function withExponent(value) {
  if (value === 0) return "0";
  const [factor, exponent] = value.toExponential(0).split("e");
  const power = [...String(Math.abs(Number(exponent)))].map((digit) => SUPERSCRIPTS[digit]).join("");
  return `${withMinus(factor)} × 10${Number(exponent) < 0 ? "⁻" : ""}${power}`;
}

function withMinus(text) {
  return text.replace("-", MINUS);
}

/** @returns {string} with at least three significant digits: 0.0123, 1.23, 12.3, 1,234 */
export function significant(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return integer(value);
  return fixed(value, Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size)))));
}

/** @returns {string} a share 0…1 as "22.2 %"; one above 0 that rounds to 0, or below 1 that rounds to 1, becomes a bound */
export function percent(share, digits = 1) {
  const least = 10 ** -digits;
  const value = share * 100;
  if (value > 0 && value < least / 2) return `<${NARROW_SPACE}${fixed(least, digits)}${NARROW_SPACE}%`;
  if (value < 100 && value >= 100 - least / 2) return `>${NARROW_SPACE}${fixed(100 - least, digits)}${NARROW_SPACE}%`;
  return `${fixed(value, digits)}${NARROW_SPACE}%`;
}

/** @returns {string} every byte: "46,080 B" */
export function bytes(count) {
  return `${integer(count)}${NARROW_SPACE}B`;
}

/** @returns {string} 538060416 → "538 MB"; powers of 1000 */
export function bytesShort(count) {
  return short(count, "B");
}

/** @returns {string} a count with a decimal prefix: short(2.7e8, "FLOP") → "270 MFLOP" */
export function short(count, unit) {
  const [size, prefix] = SHORT_UNITS.find(([least]) => count >= least) ?? [1, ""];
  const value = count / size;
  return `${value >= 100 || size === 1 ? integer(value) : fixed(value, value >= 10 ? 1 : 2)}${NARROW_SPACE}${prefix}${unit}`;
}

/** @returns {string} a measured time: "0.42 ms", "8.4 ms", "92 ms", "1.24 s" */
export function milliseconds(ms) {
  if (ms >= 1000) return `${fixed(ms / 1000, 2)}${NARROW_SPACE}s`;
  return `${fixed(ms, ms >= 10 ? 0 : ms >= 1 ? 1 : 2)}${NARROW_SPACE}ms`;
}

/** @returns {string} a ratio: "1.2×", "11×" */
export function times(ratio) {
  return `${fixed(ratio, ratio < 10 ? 1 : 0)}×`;
}

/** @returns {string} "a", "a and b", "a, b and c" */
export function listed(items) {
  return LIST.format(items.map(String));
}

/** Printable ASCII, whose bytes and characters are the same. */
const PLAIN = /^[ -~]+$/;

/**
 * Returns a token's visible text: `·` for a space, `␣` for a no-break space, `⏎` for a newline, `⇥` for a tab, `\xF0` for a byte that is not
 * valid UTF-8 alone, `\u{200B}` for invisible characters.
 *
 * @param {{text: string, bytes: string, special: boolean}} token
 */
export function tokenText(token) {
  if (token.special) return token.text;
  // A fast path: most tokens are plain, and one frame may need hundreds of labels.
  if (PLAIN.test(token.text)) return token.text.replaceAll(" ", "·");
  let shown = "";
  for (const piece of utf8Pieces(fromHex(token.bytes))) {
    shown += typeof piece === "number" ? `\\x${hex(piece)}` : visible(piece);
  }
  if (shown === "") return "∅";
  return COMBINING.test(shown) ? `◌${shown}` : shown;
}

/** @returns {string} the character itself if it is visible, else its replacement */
export function visible(character) {
  if (character === " ") return "·";
  if (character === "\u00a0") return "␣";
  if (character === "\n") return "⏎";
  if (character === "\t") return "⇥";
  if (!UNSEEN.test(character)) return character;
  const code = character.codePointAt(0);
  return code < 0x80 ? `\\x${hex(code)}` : `\\u{${code.toString(16).toUpperCase()}}`;
}

function hex(byte) {
  return byte.toString(16).toUpperCase().padStart(2, "0");
}

/** @returns {Uint8Array} the bytes of a hexadecimal text */
export function fromHex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Splits bytes into characters; a byte that belongs to no character becomes a number. */
function* utf8Pieces(source) {
  for (let at = 0; at < source.length; ) {
    const length = utf8Length(source[at]);
    let character = null;
    try {
      character = length && at + length <= source.length ? UTF8.decode(source.subarray(at, at + length)) : null;
    } catch {
      character = null;
    }
    yield character ?? source[at];
    at += character === null ? 1 : length;
  }
}

/** Returns the length in bytes of the character that starts with this byte, 0 if none can (RFC 3629). */
function utf8Length(first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/** @returns {string} the token cut to `limit` characters for a label */
export function tokenLabel(token, limit = LABEL_CHARS) {
  const characters = [...tokenText(token)];
  return characters.length <= limit ? characters.join("") : `${characters.slice(0, limit - 1).join("")}…`;
}

/** @returns {string} as `tokenLabel`, without a leading space */
export function bareLabel(token, limit = LABEL_CHARS) {
  const label = tokenLabel(token, limit);
  return label.length > 1 && label.startsWith("·") ? label.slice(1) : label;
}

/** Only a word loses its leading space: before a newline or a full stop, the space distinguishes two tokens. */
const SPACED_WORD = /^·[\p{L}\p{N}]/u;

/**
 * @returns {string} the token in quotation marks: “animal”, without a word's leading space; right-to-left text is isolated, so
 *   that the rest of the sentence keeps its order
 */
export function quoted(token, limit = 24) {
  // Readers do not know the sign for a space.
  if (token.text === " ") return msg`“·” (a space)`;
  const label = tokenLabel(token, limit);
  const bare = SPACED_WORD.test(label) ? label.slice(1) : label;
  return `“${RIGHT_TO_LEFT.test(bare) ? `\u2068${bare}\u2069` : bare}”`;
}
