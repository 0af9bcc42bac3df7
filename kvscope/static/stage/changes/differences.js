/** How a changed run differs from its original in the selected step: inside the model, and in the next token. */

import { html } from "htm/preact";
import { MapsCard } from "../../shared/compare/maps-card.js";
import { NextTokenCard } from "../../shared/compare/next-token-card.js";
import { followsSameTokens } from "../../shared/facts/changes.js";
import { msg } from "../../shared/words/msg.js";
import { stepBeside } from "./effect.js";
import { useComparison } from "./use-comparison.js";

export function Differences({ state, dispatch }) {
  const compared = useComparison(state);
  const step = state.step;
  const beside = compared ? stepBeside(compared.aligned, step) : null;
  if (beside === null || !compared.original.steps[beside] || !compared.run.steps[step])
    return html`<p class="muted">${compared ? msg`The original has no step beside step ${step}: its answer has no token there.` : msg`You see this after the first step.`}</p>`;
  const { original, run, aligned } = compared;
  const [a, b] = [
    { run: original, step: beside },
    { run, step },
  ];
  const onPlace = (place) => dispatch({ type: "select", selection: place });
  return html`<section class="map map-differences scrolls" aria-label=${msg`What differs from the original`}>
    <p class="small">${
      followsSameTokens(original, run, step)
        ? msg`A: the original. B: this run. Step ${step} follows the same tokens in both, so all differences come with the changes.`
        : msg`A: the original, step ${beside}. B: this run, step ${step}. Both follow different tokens, so differences come from these tokens too.`
    }</p>
    <${MapsCard} a=${a} b=${b} columns=${aligned.columns} place=${state.selection} chosen onPlace=${onPlace} />
    <${NextTokenCard} a=${a} b=${b} label=${msg`Next token in both runs`} />
  </section>`;
}
