/** The place of the panel with the code that ran, below the stage. Its code is loaded when it is first opened. */

import { html } from "htm/preact";
import { Part, useChoice } from "../../shared/painting/part.js";
import { Fetched } from "../../shared/ui/fetched.js";

const PANEL = async () => (await import("../code/code-panel.js")).CodePanel;

/** @param {Object} parts as of every part */
export function CodeDock(parts) {
  const open = useChoice(openOf);
  return open && html`<div class="code-dock" id="code-dock"><${Part} of=${Panel} ...${parts} /></div>`;
}

function Panel(props) {
  return html`<${Fetched} of=${PANEL} ...${props} />`;
}

const openOf = ({ code, file, run }) => code && !file && Boolean(run?.open);
