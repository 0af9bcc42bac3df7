/** The inspector: one of the zooms or a panel opened large, under the navigation to the others. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { lacking, NEEDS } from "../../shared/facts/lacking.js";
import { ZOOMS } from "../../shared/state/views.js";
import { msg } from "../../shared/words/msg.js";
import { ChangeButton } from "../changes/change-button.js";
import { isAwaited, whenReached, whenSettled } from "../state/layer-sweep.js";
import { hasCode } from "../state/run-request.js";
import { Prefilling } from "../ui/prefilling.js";
import { Breadcrumb } from "./breadcrumb.js";
import { headFocus } from "./focus.js";
import { useGrowth } from "./growth.js";
import { Lock } from "./lock.js";
import { useEntry } from "./use-entry.js";
import { useHeadValues } from "./use-head-values.js";
import { useView } from "./use-view.js";

/** Views of one layer. */
const IN_LAYER = ["block", "head", "pair"];

export function Inspector(props) {
  const { run } = props.state;
  return html`<section class="inspector" aria-label=${msg`Inspector`}>
    ${
      run?.shows
        ? html`<${View} ...${props} />`
        : html`<p class="empty muted centred" role="status">${run && !run.close ? msg`Loading the run…` : msg`After the first step of a run, you see here where each head looks.`}</p>`
    }
  </section>`;
}

/**
 * The head view has empty cells before the first step; the other views need values and come with them. A view of one layer
 * shows a step once its animation has reached that layer, other views once it is over. In a walk through the layers the
 * model view shows the layers reached so far.
 */
function View({ state: now, ...parts }) {
  const ref = useRef(null);
  const inLayer = IN_LAYER.includes(now.selection.view) || (now.layerStop && now.selection.view === "model");
  const state = inLayer ? whenReached(now) : whenSettled(now);
  const awaited = isAwaited(state);
  const { view, entered, Shown, failed } = useView({ view: state.selection.view, entered: state.entered });
  // The pair view is a page of arithmetic: a pointer that only crosses the map must not change it.
  const focus = headFocus(view === "pair" ? { ...state, hover: null } : state);
  const exact = useHeadValues(state, focus, parts.client, view === "head" || view === "pair");
  const lacks = lacking(state.run, NEEDS[view]);
  useEntry(ref, view, entered);
  useGrowth(ref, view, now.reducedMotion);
  return html`<${Breadcrumb} focus=${focus} view=${state.selection.view} code=${hasCode(now) ? now.code : null} dispatch=${parts.dispatch}><${ChangeButton} state=${now} focus=${focus} dispatch=${parts.dispatch} awaited=${awaited} /><//>
    ${!awaited && html`<${Lock} state=${state} focus=${focus} dispatch=${parts.dispatch} />`}
    ${failed && html`<p class="empty muted centred" role="alert">${msg`The view could not be loaded: the server does not answer.`}</p>`}
    ${!Shown && !failed && html`<p class="empty muted centred" role="status">${msg`Loading the view…`}</p>`}
    ${Shown && lacks && html`<p class="empty muted centred" role="status">${lacks}</p>`}
    ${Shown && awaited && view !== "head" && html`<div class="empty muted centred"><p>${msg`You see this after the first step.`}</p>${state.run.awaited && html`<${Prefilling} run=${state.run} />`}</div>`}
    ${
      Shown &&
      !lacks &&
      (!awaited || view === "head") &&
      html`<div class=${`view grow view-${view}`} key=${view} ref=${ref} data-depth=${ZOOMS.indexOf(view)}>
        <${Shown} state=${state} sight=${now.step} focus=${focus} exact=${exact} ...${parts} />
      </div>`
    }`;
}
