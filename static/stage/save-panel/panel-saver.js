/** What each panel is saved as, and under which name. */

import { html } from "htm/preact";
import { fileName } from "./file-name.js";
import { PanelMenu } from "./panel-menu.js";

/** What a panel is called in file names; null: as the view is. */
const FILES = {
  "Model map": "map",
  Inspector: null,
  "Next token": "next-token",
  "KV cache": "kv-cache",
  Time: "time",
};

/** @param {{panel: string, state: Object, client: Object}} props `panel`: a name of FILES */
export function PanelSaver({ panel, state, client }) {
  const { run, selection } = state;
  if (!run?.steps.length) return null;
  return html`<${PanelMenu}
    panel=${panel}
    file=${fileName(state, FILES[panel] ?? selection.view)}
    table=${async () => (await import("./panel-tables.js")).tableOfPanel(panel, state, client)}
  />`;
}
