/** The place of the panel with the code that ran, below the stage. Its code is loaded when it is first opened. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { Part, useChoice } from "../../shared/painting/part.js";
import { Fetched } from "../../shared/ui/fetched.js";

const PANEL = async () => {
  const { CodePanel, readSource } = await import("../code/code-panel.js");
  readSource().catch(() => {}); // the panel says so
  return CodePanel;
};

/** Who is at its button is about to open it. */
const WAYS = ["pointerover", "focusin"];

/** @param {Object} parts as of every part */
export function CodeDock(parts) {
  const open = useChoice(openOf);
  useEffect(() => {
    const load = ({ target }) => target.closest(".crumb-code") && PANEL();
    for (const way of WAYS) document.addEventListener(way, load);
    return () => {
      for (const way of WAYS) document.removeEventListener(way, load);
    };
  }, []);
  return open && html`<div class="code-dock" id="code-dock"><${Part} of=${Panel} ...${parts} /></div>`;
}

function Panel(props) {
  return html`<${Fetched} of=${PANEL} ...${props} />`;
}

const openOf = ({ code, file, run }) => code && !file && Boolean(run?.open);
