/** Saves the workload in sight: a link that stays, at the pass in sight. Few do, so its code is fetched when somebody does. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "../../shared/ui/fetched.js";

const DIALOG = async () => (await import("./keep-dialog.js")).KeepDialog;

/** @returns {string|null} why a workload cannot be saved; null when it can */
function refusalOf(log) {
  if (!log?.close) return "Possible when the run has ended";
  return log.passes.length ? null : "This run ended before its first pass: there is nothing to show";
}

/** @param {{log: import("../../shared/log/workload.js").Workload, pass: number, limits: Object, client: Object}} props `pass`: in sight */
export function KeepButton({ log, pass, limits, client }) {
  const [opened, setOpened] = useState(0);
  const refusal = refusalOf(log);
  return html`<button
      type="button" class="run-button strong nowrap still" disabled=${refusal !== null} title=${refusal ?? "A link that opens this run, at this pass, and stays"}
      onClick=${() => setOpened((times) => times + 1)}
    >Share</button>
    ${opened > 0 && !refusal && html`<${Fetched} of=${DIALOG} log=${log} pass=${pass} opened=${opened} limits=${limits} client=${client} />`}`;
}
