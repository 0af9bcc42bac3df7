/** The save menu of a panel, with its label and its file name. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";
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

const MOST_CHARACTERS = 40;

/**
 * Returns a file name. It has the first words of the prompt instead of the run's id, because whoever knows the id can stop or branch the run.
 *
 * @param {{run: import("../../shared/log/run.js").Run, step: number, selection: {layer: number, head: number}}} state
 * @param {string} panel
 * @returns {string} without a suffix
 */
export function fileName({ run, step, selection }, panel) {
  const words = run.open.prompt.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const prompt = words.join("-").slice(0, MOST_CHARACTERS).replace(/-$/, "") || "run";
  return `kvscope-${prompt}-step${step}-layer${selection.layer}-head${selection.head}-${panel}`;
}
