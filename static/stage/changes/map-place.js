/** The map, or in its place what a changed run has otherwise than its original in the selected step. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { MapsCard } from "../../shared/compare/maps-card.js";
import { NextTokenCard } from "../../shared/compare/next-token-card.js";
import { followsSameTokens } from "../../shared/facts/changes.js";
import { msg } from "../../shared/words/msg.js";
import { ModelMap } from "../map/map.js";
import { stepBeside } from "./effect.js";
import { useComparison } from "./use-comparison.js";

export function MapPlace(props) {
  const [differs, setDiffers] = useState(false);
  const compared = useComparison(props.state);
  const shows = differs && compared;
  return html`
    ${
      compared &&
      html`<p class="map-switch choice small" role="group" aria-label=${msg`What the map shows`}>
        <button type="button" aria-pressed=${!differs} onClick=${() => setDiffers(false)}>${msg`This run`}</button>
        <button type="button" aria-pressed=${differs} onClick=${() => setDiffers(true)}>${msg`What differs from the original`}</button>
      </p>`
    }
    ${shows ? html`<${Differences} compared=${compared} ...${props} />` : html`<${ModelMap} ...${props} />`}
  `;
}

function Differences({ compared, state, dispatch }) {
  const { original, run, aligned } = compared;
  const { step, selection } = state;
  const beside = stepBeside(aligned, step);
  if (beside === null || !original.steps[beside] || !run.steps[step])
    return html`<p class="muted">${msg`The original has no step beside step ${step}: its answer has no token there.`}</p>`;
  const [a, b] = [
    { run: original, step: beside },
    { run, step },
  ];
  const onPlace = (place) => dispatch({ type: "select", selection: place });
  return html`<section class="map map-differences scrolls" aria-label=${msg`What differs from the original`}>
    <p class="small">${followsSameTokens(original, run, step) ? msg`A: the original. B: this run. Step ${step} follows the same tokens in both, so all differences come with the changes.` : msg`A: the original, step ${beside}. B: this run, step ${step}. Both follow different tokens, so differences come from these tokens too.`}</p>
    <${MapsCard} a=${a} b=${b} columns=${aligned.columns} place=${selection} chosen onPlace=${onPlace} />
    <${NextTokenCard} a=${a} b=${b} label=${msg`Next token in both runs`} />
  </section>`;
}
