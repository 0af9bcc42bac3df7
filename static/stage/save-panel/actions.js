/** What a panel can be saved as. Fetched when its menu is opened. */

import { toCsv } from "./csv.js";
import { copyPicture, download, pngOf, svgOf } from "./picture.js";

/**
 * @param {{element: () => Element, wanted: (node: Element) => boolean, file: string, table: () => Object|Promise<Object>}} what
 *   `wanted`: false of what is left out of pictures; the rest as in PanelMenu
 * @returns {{text: string, done: string, run: () => Promise<void>}[]}
 */
export function actionsOf({ element, wanted, file, table }) {
  return [
    { text: "Copy picture", done: "Copied", run: () => copyPicture(pngOf(element(), wanted)) },
    { text: "PNG", done: "Saved", run: async () => download(await pngOf(element(), wanted), `${file}.png`) },
    { text: "SVG", done: "Saved", run: async () => download(await svgOf(element(), wanted), `${file}.svg`) },
    { text: "CSV", done: "Saved", run: async () => download(csvBlob(await table()), `${file}.csv`) },
  ];
}

function csvBlob(table) {
  // The mark at the start tells spreadsheets that the text is UTF-8.
  return new Blob(["\ufeff", toCsv(table)], { type: "text/csv;charset=utf-8" });
}
