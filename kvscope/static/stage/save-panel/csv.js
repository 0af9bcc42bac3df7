/** Tables as comma-separated values (RFC 4180). Pure. */

/** A spreadsheet reads text that starts with one of these as a formula, and a token may start with any. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * @param {{header: string[], rows: (string|number|null|undefined)[][]}} table null: an empty field
 * @returns {string} lines end with CRLF; text that looks like a formula gets an apostrophe in front
 * @throws {RangeError} when a row is not as long as the header
 */
export function toCsv({ header, rows }) {
  const lines = [header, ...rows].map((row) => {
    if (row.length !== header.length) throw new RangeError(`a row of ${row.length} fields, not ${header.length}`);
    return row.map(field).join(",");
  });
  return `${lines.join("\r\n")}\r\n`;
}

function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
