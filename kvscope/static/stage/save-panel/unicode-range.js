/** CSS `unicode-range` values. Pure. */

/**
 * @param {string} ranges such as "U+0-FF, U+131, U+4??"; "" covers everything
 * @param {string} text
 * @returns {boolean} whether some character of the text is in one of the ranges
 */
export function rangesCover(ranges, text) {
  const spans = ranges.split(",").map((range) => spanOf(range.trim()));
  if (ranges.trim() === "") return text.length > 0;
  for (const character of text) {
    const code = character.codePointAt(0);
    if (spans.some(([low, high]) => code >= low && code <= high)) return true;
  }
  return false;
}

function spanOf(range) {
  const [low, high = low] = range.replace(/^u\+/i, "").split("-");
  return [Number.parseInt(low.replaceAll("?", "0"), 16), Number.parseInt(high.replaceAll("?", "f"), 16)];
}
