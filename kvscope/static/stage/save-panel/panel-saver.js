/** The save menu of a panel, with its label and its file name. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";
import { fileName } from "./file-name.js";
import { PanelMenu } from "./panel-menu.js";

const LABELS = {
  map: msg`Model map`,
  inspector: msg`Inspector`,
  "next-token": msg`Next token`,
  "kv-cache": msg`KV cache`,
  time: msg`Time`,
};

/** @param {{panel: string, state: Object, client: Object}} props `panel`: a key of LABELS */
export function PanelSaver({ panel, state, client }) {
  const { run, selection } = state;
  if (!run?.steps.length) return null;
  return html`<${PanelMenu}
    panel=${LABELS[panel]}
    file=${fileName(state, panel === "inspector" ? selection.view : panel)}
    table=${async () => (await import("./panel-tables.js")).tableOfPanel(panel, state, client)}
  />`;
}
