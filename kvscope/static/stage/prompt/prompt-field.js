/** The text field of a prompt. Enter starts its run; Shift+Enter is a new line. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";

/**
 * @param {{state: Object, dispatch: Function, onSubmit: () => void, rows: string, placeholder: string, field?: Object, onFocus?: () => void}} props
 *   `field`: a ref to it
 */
export function PromptField({ state, dispatch, onSubmit, rows, placeholder, field = null, onFocus }) {
  const isBad = state.problem?.field === "prompt";
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onSubmit();
  };
  return html`<textarea
    id="prompt" rows=${rows} aria-label=${msg`Prompt`} aria-invalid=${isBad} aria-describedby=${isBad ? "problem" : undefined}
    placeholder=${placeholder} spellcheck=${false} ref=${field} value=${state.prompt}
    onInput=${(event) => dispatch({ type: "prompt", prompt: event.target.value })} onKeyDown=${onKeyDown} onFocus=${onFocus}
  ></textarea>`;
}
