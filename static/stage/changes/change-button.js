/** Opens the panel of changes with what the inspector shows switched off. */

import { html } from "htm/preact";
import { changeRefusal, placeInWords } from "../../shared/facts/changes.js";
import { canAsk } from "../../shared/state/asking.js";
import { Icon } from "../../shared/ui/icons.js";
import { msg } from "../../shared/words/msg.js";
import { changesIn, hasPlace } from "./places.js";

/** @param {{state: Object, focus: Object, dispatch: Function}} props `focus` from `headFocus` */
export function ChangeButton({ state, focus, dispatch }) {
  const { run, selection, readiness } = state;
  if (!canAsk(state) || changeRefusal(run, readiness.model)) return null;
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
function Opener({ text, label, title, onClick }) {
  return html`<button class="change-button button small nowrap" type="button" aria-label=${label} title=${title} onClick=${onClick}>
    <${Icon} name="off" /><span>${text}</span>
  </button>`;
}
