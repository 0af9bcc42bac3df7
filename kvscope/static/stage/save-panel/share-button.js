/** Shares the current run; disabled, with the reason, if it cannot be shared. The dialog’s code is loaded on the first press. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "../../shared/ui/fetched.js";
import { msg } from "../../shared/words/msg.js";

const DIALOG = async () => (await import("./share-dialog.js")).ShareDialog;

/** @param {{state: Object, dispatch: Function, client: Object}} props playback pauses, because the link opens at the current step */
export function ShareButton({ state, dispatch, client }) {
  const [opened, setOpened] = useState(0);
  const refusal = shareRefusal(state.run);
  const open = () => {
    dispatch({ type: "pause" });
    setOpened((times) => times + 1);
  };
  return html`<button
    class="button is-large strong nowrap still" type="button" disabled=${refusal !== null} title=${refusal ?? msg`Creates a link that opens this run at this step`}
    onClick=${open}
  >${msg`Share`}</button>
  ${opened > 0 && !refusal && html`<${Fetched} of=${DIALOG} state=${state} opened=${opened} client=${client} />`}`;
}

/** @returns {string|null} why the run cannot be shared; null if it can */
export function shareRefusal(run) {
  if (!run?.open) return msg`Run a prompt first`;
  if (!run.close) return msg`You can share the run when it has ended`;
  return run.steps.length ? null : msg`This run ended before its first step, so it has nothing to show`;
}
