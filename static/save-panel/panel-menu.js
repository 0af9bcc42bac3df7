/** A panel's menu: its picture to the clipboard or as a file, and its values as a table. */

import { html } from "htm/preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon } from "../ui/icons.js";
import { toCsv } from "./csv.js";
import { copyPicture, download, pngOf, svgOf } from "./picture.js";

const WAITING = "Drawing …";

/**
 * @param {{panel: string, file: string, table: () => Object|Promise<Object>}} props
 *   `panel`: its name; `file`: name of the files, without what follows the dot; `table`: its values, {header, rows}
 */
export function PanelMenu({ panel, file, table }) {
  const root = useRef(null);
  const [open, setOpen] = useState(false);
  const [said, setSaid] = useState("");
  const id = useId();
  useEffect(() => (open ? closeOutside(root.current, () => setOpen(false)) : undefined), [open]);

  const element = () => root.current.parentElement;
  const wanted = (node) => node !== root.current;
  const actions = [
    { text: "Copy picture", done: "Copied", run: () => copyPicture(pngOf(element(), wanted)) },
    { text: "PNG", done: "Saved", run: async () => download(await pngOf(element(), wanted), `${file}.png`) },
    { text: "SVG", done: "Saved", run: async () => download(await svgOf(element(), wanted), `${file}.svg`) },
    { text: "CSV", done: "Saved", run: async () => download(csvBlob(await table()), `${file}.csv`) },
  ];
  const onChoose = async ({ done, run }) => {
    setSaid(WAITING);
    try {
      await run();
      setSaid(done);
    } catch (problem) {
      setSaid(`That did not work: ${problem.message}`);
    }
  };
  const toggle = () => {
    setSaid("");
    setOpen(!open);
  };
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !open) return;
    event.stopPropagation();
    setOpen(false);
    root.current.querySelector("button").focus();
  };

  return html`<div class="panel-menu" ref=${root} onKeyDown=${onKeyDown}>
    <button
      type="button" class="icon-button" aria-label=${`Save ${panel}`} title=${`Save ${panel} as a picture or a table`}
      aria-expanded=${open} aria-controls=${open ? id : undefined} onClick=${toggle}
    ><${Icon} name="save" /></button>
    ${
      open &&
      html`<div class="panel-menu-list" id=${id} role="group" aria-label=${`Save ${panel} as`}>
        ${actions.map(
          (action) => html`<button
          key=${action.text} type="button" disabled=${said === WAITING} onClick=${() => onChoose(action)}
        >${action.text}</button>`,
        )}
        <p role="status">${said}</p>
      </div>`
    }
  </div>`;
}

function csvBlob(table) {
  // The mark at the start tells spreadsheets that the text is UTF-8.
  return new Blob(["\ufeff", toCsv(table)], { type: "text/csv;charset=utf-8" });
}

/** @returns {() => void} stops listening */
function closeOutside(root, close) {
  const onPress = (event) => root.contains(event.target) || close();
  const onFocus = onPress;
  window.addEventListener("pointerdown", onPress, true);
  window.addEventListener("focusin", onFocus, true);
  return () => {
    window.removeEventListener("pointerdown", onPress, true);
    window.removeEventListener("focusin", onFocus, true);
  };
}
