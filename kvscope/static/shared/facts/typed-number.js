/** Numbers as people type them. Pure. */

/** @returns {number|null} the number in a typed text: 46 080, 46,080, 4.6e4, −3 */
export function numberOf(text) {
  const plain = text
    .trim()
    .replace(/[\s\u202f']/g, "")
    .replace("−", "-")
    .replace(/^([+-]?0),/, "$1.") // no thousands begin with 0
    .replace(/,(?=\d{3}(\D|$))/g, "")
    .replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : null;
}
