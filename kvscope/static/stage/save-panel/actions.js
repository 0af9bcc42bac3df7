/** The entries of a panel's menu. Fetched when the menu is first opened. */

import { msg } from "../../shared/words/msg.js";
import { toCsv } from "./csv.js";
import { copyPicture, download, pngOf, svgOf } from "./picture.js";

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
