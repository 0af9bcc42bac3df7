/** Opens the panel of changes with what the inspector shows switched off. */

import { html } from "htm/preact";
import { changeRefusal, placeInWords } from "../../shared/facts/changes.js";
import { canAsk } from "../../shared/state/asking.js";
import { Icon } from "../../shared/ui/icons.js";
import { msg } from "../../shared/words/msg.js";
import { changesIn, hasPlace } from "./places.js";

/**
 * @param {{state: Object, focus: Object, dispatch: Function, awaited: boolean}} props `focus` from `headFocus`; `awaited`: no step is shown
 *   yet, and the button only keeps its place, so that nothing beside it moves
 */
export function ChangeButton({ state, focus, dispatch, awaited }) {
  const { run, selection, readiness } = state;
  if (!canAsk(state) || changeRefusal(run, readiness.model)) return null;
  if (awaited) {
    const text = hasPlace(selection.view) ? msg`Switch off…` : msg`What if…`;
    return html`<${Opener} text=${text} label=${text} title=${msg`After the first step, you can compute this run with changes.`} disabled />`;
  }
  if (!hasPlace(selection.view)) {
    const title = msg`Compute this run with changes in the model`;
    return html`<${Opener} text=${msg`What if…`} label=${msg`What if…`} title=${title} onClick=${() => dispatch({ type: "changing" })} />`;
  }
  const { layer, head } = focus.preview ? selection : focus;
  const [change] = changesIn(run, selection.view, { ...selection, layer, head });
  const place = placeInWords(change, run.tokens);
  return html`<${Opener}
    text=${msg`Switch off…`} label=${msg`Switch off ${place}…`} title=${msg`Compute the run with ${place} switched off, or changed in another way`}
    onClick=${() => dispatch({ type: "addChange", change })}
  />`;
}

/** Where the path has little room, its icon stands for its text. */
function Opener({ text, label, title, disabled = false, onClick = undefined }) {
  return html`<button class="change-button button small nowrap" type="button" aria-label=${label} title=${title} disabled=${disabled} onClick=${onClick}>
    <${Icon} name="off" /><span>${text}</span>
  </button>`;
}
