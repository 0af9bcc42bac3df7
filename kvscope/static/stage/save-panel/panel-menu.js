/** A panel's menu: copy or save its picture, save its values as a table. */

import { html } from "htm/preact";
import { useId, useRef, useState } from "preact/hooks";
import { Icon } from "../../shared/ui/icons.js";
import { useOpened } from "../../shared/ui/use-opened.js";
import { msg } from "../../shared/words/msg.js";

/**
 * @param {{panel: string, file: string, table: () => Object|Promise<Object>}} props
 *   `panel`: its label; `file`: name of the files, without suffix; `table`: its values, {header, rows}
 */
export function PanelMenu({ panel, file, table }) {
  const root = useRef(null);
  const [open, setOpen, onKeyDown] = useOpened(root);
  const [code, setCode] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [status, setStatus] = useState("");
  const id = useId();

  const actions =
    code?.actionsOf({
      element: () => root.current.parentElement,
      wanted: (node) => node !== root.current,
      ...{ file, table },
    }) ?? [];
  const onChoose = async ({ done, run }) => {
    setBusy(true);
    setStatus(msg`Drawing…`);
    try {
      await run();
      setStatus(done);
    } catch (problem) {
      setStatus(msg`This failed: ${problem.message}`);
    }
    setBusy(false);
  };
  const toggle = async () => {
    setStatus("");
    setOpen(!open);
    if (code) return;
    try {
      setCode(await import("./actions.js"));
    } catch {
      setStatus(msg`The server does not answer.`);
    }
  };

  return html`<div class="panel-menu" ref=${root} onKeyDown=${onKeyDown}>
    <button
      type="button" class="icon-button muted still" aria-label=${msg`Save ${panel}`} title=${msg`Save ${panel} as a picture or a table`}
      aria-expanded=${open} aria-controls=${open ? id : undefined} onClick=${toggle}
    ><${Icon} name="save" /></button>
    ${
      open &&
      html`<div class="panel-menu-list popover" id=${id} role="group" aria-label=${msg`Save ${panel} as`}>
        ${actions.map(
          (action) => html`<button
          key=${action.label} type="button" disabled=${isBusy} onClick=${() => onChoose(action)}
        >${action.label}</button>`,
        )}
        <p role="status">${status}</p>
      </div>`
    }
  </div>`;
}
