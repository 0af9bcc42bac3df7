/** A panel's menu: its picture to the clipboard or as a file, and its values as a table. */

import { html } from "htm/preact";
import { useId, useRef, useState } from "preact/hooks";
import { Icon } from "../../shared/ui/icons.js";
import { useOpened } from "../../shared/ui/use-opened.js";

const WAITING = "Drawing …";

/**
 * @param {{panel: string, file: string, table: () => Object|Promise<Object>}} props
 *   `panel`: its name; `file`: name of the files, without what follows the dot; `table`: its values, {header, rows}
 */
export function PanelMenu({ panel, file, table }) {
  const root = useRef(null);
  const [open, setOpen, onKeyDown] = useOpened(root);
  const [code, setCode] = useState(null);
  const [said, setSaid] = useState("");
  const id = useId();

  const actions =
    code?.actionsOf({
      element: () => root.current.parentElement,
      wanted: (node) => node !== root.current,
      ...{ file, table },
    }) ?? [];
  const onChoose = async ({ done, run }) => {
    setSaid(WAITING);
    try {
      await run();
      setSaid(done);
    } catch (problem) {
      setSaid(`That did not work: ${problem.message}`);
    }
  };
  const toggle = async () => {
    setSaid("");
    setOpen(!open);
    if (code) return;
    try {
      setCode(await import("./actions.js"));
    } catch {
      setSaid("The server does not answer.");
    }
  };

  return html`<div class="panel-menu" ref=${root} onKeyDown=${onKeyDown}>
    <button
      type="button" class="icon-button muted still" aria-label=${`Save ${panel}`} title=${`Save ${panel} as a picture or a table`}
      aria-expanded=${open} aria-controls=${open ? id : undefined} onClick=${toggle}
    ><${Icon} name="save" /></button>
    ${
      open &&
      html`<div class="panel-menu-list popover" id=${id} role="group" aria-label=${`Save ${panel} as`}>
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
