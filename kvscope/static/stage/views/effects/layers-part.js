/** How the next token changes without each layer, or one half of it. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { choiceOf, howOf } from "../../state/effects.js";
import { colourOf, directOf, strongest, totalOf } from "./facts.js";
import { Grid } from "./grid.js";
import { Measured } from "./measured.js";
import { useDirect } from "./use-direct.js";
import { useEffects } from "./use-effects.js";
import { amount, effectSentence, effectTitle, replaced, signed, totalScale } from "./words.js";

const KINDS = [
  { of: "attention", heading: msg`attention`, name: (layer) => msg`the attention of layer ${layer}` },
  { of: "mlp", heading: msg`MLP`, name: (layer) => msg`the MLP of layer ${layer}` },
  { of: "layers", heading: msg`both`, name: (layer) => msg`layer ${layer}` },
];

const ALL = KINDS.map(({ of }) => of);

export function LayersPart({ state, client, dispatch, step }) {
  const { run, readiness } = state;
  const theme = useTheme();
  const choice = choiceOf(state);
  const { measure } = choice;
  const measurement = useEffects({ state, client, dispatch }, { run: run.id, step, kinds: ALL, how: howOf(choice) });
  const [selected, setSelected] = useState(null);
  const { effects, base, status } = measurement;
  const values = effects.map((each) => totalOf(measure, base, each));
  const largest = strongest(values);
  const { values: direct } = useDirect(client, { run, step, choice, readiness, done: status === "done" });
  /** Of a whole layer, the sum of its halves. */
  const directAt = (at) => {
    const layer = Math.floor(at / KINDS.length);
    const [attention, mlp] = [direct.attention, direct.mlp].map((half) => directOf(measure, half[layer]));
    return [attention, mlp, attention + mlp][at % KINDS.length];
  };
  const placeOf = (at) => (at % KINDS.length) * run.layers + Math.floor(at / KINDS.length);
  const effectAt = (at) => effects[placeOf(at)];
  const nameAt = (at) => KINDS[at % KINDS.length].name(Math.floor(at / KINDS.length));
  const { token } = run.steps[step].data;
  const title = (at) => effectTitle(nameAt(at), token, base, effectAt(at));
  const colour = (at) => {
    const value = values[placeOf(at)] ?? null;
    return value === null ? null : colourOf(theme, measure, value, largest);
  };
  return html`<${Measured} measurement=${measurement} run=${run} readiness=${readiness} label=${msg`Replace each layer and half`} name=${msg`Layers replaced`} />
    <figure class="effect-layers">
      <${Grid} layers=${run.layers} columns=${KINDS.length} name=${msg`What changes when a layer is replaced`} headings=${KINDS.map(({ heading }) => heading)}
        colour=${colour} title=${title} selected=${selected} onSelect=${setSelected} />
      ${effects.length > 0 && html`<p class="muted small">${totalScale(measure, largest)}</p>`}
    </figure>
    ${selected !== null && effectAt(selected) && html`<p class="effect-picked" role="status">${effectSentence(replaced(nameAt(selected)), token, base, effectAt(selected))} ${msg`Total effect: ${amount(measure, values[placeOf(selected)])}.`}${direct && ` ${msg`Direct effect, against zeros: ${signed(directAt(selected))} logits of the token less ${measure === "difference" ? msg`the foil’s` : msg`the mean of all logits`}, the norm’s scale held fixed.`}`}</p>`}`;
}
