/** The button that opens the panel of changes, with the head, layer or token of the inspector switched off. */

import { html } from "htm/preact";
import { changeRefusal, placeInWords } from "../../shared/facts/changes.js";
import { Icon } from "../../shared/ui/icons.js";
import { msg } from "../../shared/words/msg.js";
import { canAsk } from "../state/run-request.js";
import { changesIn, hasPlace } from "./places.js";

/** The button's name, the same in every view. */
export const NAME = msg`What if…`;

/**
 * @param {{state: Object, focus: Object, dispatch: Function, awaited: boolean}} props `focus` from `headFocus`; `awaited`: no step is shown
 *   yet, and the button only keeps its place, so that nothing beside it moves
 */
export function ChangeButton({ state, focus, dispatch, awaited }) {
  const { run, selection, readiness } = state;
  if (!canAsk(state) || changeRefusal(run, readiness.model)) return null;
  if (awaited) {
    return html`<${Opener} label=${NAME} title=${msg`After the first step, you can compute this run with changes.`} disabled />`;
  }
  if (!hasPlace(selection.view)) {
    const title = msg`Compute this run with changes in the model`;
    return html`<${Opener} label=${NAME} title=${title} onClick=${() => dispatch({ type: "changing" })} />`;
  }
  const { layer, head } = focus.preview ? selection : focus;
  const [change] = changesIn(run, selection.view, { ...selection, layer, head });
  const place = placeInWords(change, run.tokens);
  return html`<${Opener}
    label=${`${NAME} ${msg`Switch off ${place}`}`} title=${msg`Compute the run with ${place} switched off, or changed in another way`}
    onClick=${() => dispatch({ type: "addChange", change })}
  />`;
}

/** The button. Style sheets hide its text where there is no room for it. */
function Opener({ label, title, disabled = false, onClick = undefined }) {
  return html`<button class="change-button button small nowrap" type="button" aria-label=${label} title=${title} disabled=${disabled} onClick=${onClick}>
    <${Icon} name="off" /><span>${NAME}</span>
  </button>`;
}
