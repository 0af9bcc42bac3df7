/** Shows the panel of changes while it is open; its code is loaded the first time. */

import { html } from "htm/preact";
import { Part, useChoice } from "../../shared/painting/part.js";
import { Fetched } from "../../shared/ui/fetched.js";

const PANEL = async () => (await import("./panel.js")).ChangesPanel;

/** @param {Object} parts as of every part */
export function ChangesPlace(parts) {
  const open = useChoice(isOpen);
  return open && html`<${Part} of=${Panel} urgent ...${parts} />`;
}

function Panel(props) {
  return html`<${Fetched} of=${PANEL} ...${props} />`;
}

const isOpen = ({ changing, run }) => Boolean(changing?.open && run?.open);
