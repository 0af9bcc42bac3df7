/** The panel with the code that ran, below the stage. */

import { html } from "htm/preact";
import { CodeDock as Dock } from "../../shared/code/code-dock.js";
import { Part, useChoice } from "../../shared/painting/part.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { hasCode } from "../state/run-request.js";

const PANEL = async () => {
  const { CodePanel, readSource } = await import("../code/code-panel.js");
  readSource().catch(() => {}); // the panel says so
  return CodePanel;
};

/** @param {Object} parts as of every part */
export function CodeDock(parts) {
  const open = useChoice(openOf);
  return html`<${Dock} open=${open} load=${PANEL}><${Part} of=${Panel} ...${parts} /><//>`;
}

function Panel(props) {
  return html`<${Fetched} of=${PANEL} ...${props} />`;
}

const openOf = (state) => state.code && hasCode(state) && Boolean(state.run?.open);
