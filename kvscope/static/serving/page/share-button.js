/** Shares the workload, at the pass in sight. Few viewers do, so the dialog’s code is loaded on the first press. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "../../shared/ui/fetched.js";
import { msg } from "../../shared/words/msg.js";

const DIALOG = async () => (await import("./share-dialog.js")).ShareDialog;

/** @returns {string|null} why a workload cannot be saved; null when it can */
function refusalOf(log) {
  if (!log?.close) return msg`You can share it when it has ended`;
  return log.passes.length ? null : msg`It ended before its first pass, so there is nothing to share`;
}

/** @param {{log: import("../workload-log.js").Workload, pass: number, limits: Object, client: Object}} props `pass`: in sight */
export function ShareButton({ log, pass, limits, client }) {
  const [opened, setOpened] = useState(0);
  const refusal = refusalOf(log);
  return html`<button
      type="button" class="run-button strong nowrap still" disabled=${refusal !== null} title=${refusal ?? msg`Create a permanent link to this workload at this pass`}
      onClick=${() => setOpened((times) => times + 1)}
    >${msg`Share`}</button>
    ${opened > 0 && !refusal && html`<${Fetched} of=${DIALOG} log=${log} pass=${pass} opened=${opened} limits=${limits} client=${client} />`}`;
}
