/** The entries of a panel's menu. Fetched when the menu is first opened. */

import { copyPicture, download, pngOf, svgOf } from "../../shared/files/snapshot.js";
import { msg } from "../../shared/words/msg.js";

/**
 * @param {{element: () => Element, wanted: (node: Element) => boolean, file: string, table: () => Object|Promise<Object>}} what
 *   `wanted`: false for elements left out of pictures; the rest as in PanelMenu
 * @returns {{label: string, done: string, run: () => Promise<void>}[]}
 */
export function actionsOf({ element, wanted, file, table }) {
  return [
    { label: msg`Copy picture`, done: msg`Copied`, run: () => copyPicture(pngOf(element(), wanted)) },
    { label: "PNG", done: msg`Saved`, run: async () => download(await pngOf(element(), wanted), `${file}.png`) },
    { label: "SVG", done: msg`Saved`, run: async () => download(await svgOf(element(), wanted), `${file}.svg`) },
    { label: "CSV", done: msg`Saved`, run: async () => download(csvBlob(await table()), `${file}.csv`) },
  ];
}

function csvBlob(table) {
  // The mark at the start tells spreadsheets that the text is UTF-8.
  return new Blob(["\ufeff", toCsv(table)], { type: "text/csv;charset=utf-8" });
}

/** Characters that start a formula in a spreadsheet; a token may start with any. */
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
