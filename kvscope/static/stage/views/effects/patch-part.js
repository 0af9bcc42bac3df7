/** A map of patches: one place of this run at a time gets the rows that another prompt has there. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { percent, quoted } from "../../../shared/facts/format.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { choiceOf, howOf } from "../../state/effects.js";
import { byStrength, colourOf, shareOfChange, strongest, totalOf } from "./facts.js";
import { Grid } from "./grid.js";
import { Measured } from "./measured.js";
import { OtherPrompt } from "./switching.js";
import { useEffects } from "./use-effects.js";
import { amount, becomes, MEASURES } from "./words.js";

const PLACES = [
  { of: "residual_at", name: msg`residual stream after the layer` },
  { of: "attention_at", name: msg`what attention adds` },
  { of: "mlp_at", name: msg`what the MLP adds` },
];
const COLUMN = 44;
const WIDEST = 860;
/** With more columns, their headings are positions alone. */
const NAMED = 20;

export function PatchPart({ state, client, dispatch, step }) {
  const { run, readiness } = state;
  const theme = useTheme();
  const choice = choiceOf(state);
  const [of, setOf] = useState(PLACES[0].of);
  const [selected, setSelected] = useState(null);
  const about = { run: run.id, step, kinds: [of], how: howOf(choice, "resample") };
  const measurement = useEffects({ state, client, dispatch }, about);
  const { effects, base, other, status } = measurement;
  const columns = run.lastQueryOfStep(step) + 1;
  const { token } = run.steps[step].data;
  const { measure } = choice;
  const totals = effects.map((each) => totalOf(measure, base, each));
  const shares = effects.map((each) => shareOfChange(measure, base, other, each));
  const inShares = shares.length > 0 && shares[0] !== null;
  const values = inShares ? shares : totals;
  const largest = strongest(values);
  const nameAt = (at) => {
    const position = at % columns;
    return msg`layer ${Math.floor(at / columns)}, position ${position} ${quoted(run.tokens[position])}`;
  };
  const value = (at) => (inShares ? percent(shares[at], 0) : amount(measure, totals[at]));
  const title = (at) =>
    effects[at] ? msg`${nameAt(at)}: ${value(at)}, ${quoted(token)} ${becomes(base, effects[at])}` : nameAt(at);
  const colour = (at) => {
    const value = values[at] ?? null;
    return value === null ? null : colourOf(theme, measure, value, largest);
  };
  const done = status === "done";
  // The residual stream of the newest token ends as the prediction: there, a patch becomes it by construction.
  const counts = (at) => of !== "residual_at" || at % columns !== columns - 1;
  const most = done ? (byStrength(values).find(counts) ?? null) : null;
  const scope = of === "residual_at" ? msg`Apart from the newest token’s position,` : msg`Of all places,`;
  const headings = run.tokens
    .slice(0, columns)
    .map((each, at) => (columns > NAMED ? (at % 5 ? "" : String(at)) : each.text.trim().slice(0, 6)));
  const unit = MEASURES.find((each) => each.measure === measure).unit;
  return html`<div class="effect-choice">
      <${OtherPrompt} state=${state} dispatch=${dispatch} />
      <label class="line">${msg`Patch the`}
        <select value=${of} onChange=${(event) => setOf(event.target.value)}>${PLACES.map((place) => html`<option key=${place.of} value=${place.of}>${place.name}</option>`)}</select>
      </label>
    </div>
    <${Measured} measurement=${measurement} run=${run} readiness=${readiness} label=${msg`Patch each of ${run.layers * columns} places`} name=${msg`Places patched`} />
    ${
      done &&
      html`<p class="effect-headline">${
        most !== null && values[most]
          ? msg`${scope} the largest effect comes from ${nameAt(most)}: ${value(most)}${inShares ? "" : ` ${unit}`}.`
          : msg`${scope} no patch changes this measure.`
      }</p>`
    }
    <figure class="effect-layers">
      <${Grid} layers=${run.layers} columns=${columns} name=${msg`What a patch changes`} headings=${headings} across=${Math.min(WIDEST, COLUMN * columns)}
        colour=${colour} title=${title} selected=${selected} marked=${most === null ? [] : [most]} onSelect=${setSelected} />
      <p class="muted small">${inShares ? msg`Share of the change to the other text, which is the other prompt followed by this run’s answer so far: (M of this run − M patched) ÷ (M of this run − M of the other text). 0 %: as in this run; 100 %: as in the other text; M: ${unit === msg`logits` ? msg`logit of the token − logit of the foil` : msg`ln of the token’s probability`}.` : measure === "kl" ? msg`KL divergence, in nats. A share of the change to the other text needs a measure with a sign, by which the two differ by at least 0.1.` : msg`Fall of the chosen measure (this run − patched), in ${unit}; negative: it rises. A share of the change to the other text needs a measure with a sign, by which the two differ by at least 0.1.`}</p>
      <p class="muted small">${msg`Before the first position at which the prompts differ, a patch changes nothing in a run without changes: both have the same rows. A large patch suggests that this place carries what differs between the two prompts; it may also only disturb, most easily by KL or probability. A small one does not show that the place lacks it. The last layer’s residual stream of the newest token is the other text’s prediction by construction. If the prompts differ in one token only, a patch of the residual stream there, in the first layers, often gives about the same as that other token would. Patching the other way round can give another map.`}${run.open.changed ? ` ${msg`This run has changes; the other text and its rows are computed without them. So a large effect may also come from undoing a change, and 100 % is the other text without the changes.`}` : ""}</p>
    </figure>
    ${selected !== null && effects[selected] && html`<p class="effect-picked" role="status">${title(selected)}</p>`}`;
}
