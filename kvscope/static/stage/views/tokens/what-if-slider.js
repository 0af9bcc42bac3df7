/** One sampling setting above its column: a slider and a number field. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { integer } from "../../../shared/facts/format.js";
import { msg } from "../../../shared/words/msg.js";
import { indexOfK, kAt, kStops } from "./k-scale.js";
import { RANGES } from "./what-if-ranges.js";

const UNUSED = msg`not used by greedy`;
const SETTINGS = {
  temperature: { label: msg`temperature`, field: "temperature", ...RANGES.temperature },
  top_p: { label: msg`top-p`, field: "top_p", ...RANGES.top_p },
};

/**
 * Moving a slider shows what sampling would do, also for a greedy run.
 *
 * @param {{name: "temperature"|"top_k"|"top_p", settings: Object, vocab: number, dispatch: Function}} props
 */
export function WhatIfSlider({ name, settings, vocab, dispatch }) {
  const greedy = settings.strategy === "greedy";
  const set = (value) => dispatch({ type: "whatIf", patch: { strategy: "sample", [name]: value } });
  const parts = { settings, greedy, set };
  return name === "top_k"
    ? html`<${TopK} ...${parts} vocab=${vocab} />`
    : html`<${Linear} ...${parts} ...${SETTINGS[name]} />`;
}

function Linear({ settings, greedy, set, label, field, least, most, step }) {
  const value = settings[field];
  const onChange = ({ currentTarget }) => {
    const typed = currentTarget.valueAsNumber;
    if (Number.isFinite(typed)) set(Math.min(most, Math.max(least, typed)));
  };
  /** What is typed may pass values out of bounds: the 0 of 0.5 stays until the number is complete. */
  const onInput = (event) => {
    const typed = event.currentTarget.valueAsNumber;
    if (typed >= least && typed <= most) onChange(event);
  };
  const bounds = { min: least, max: most, step, value, onInput, onChange };
  return html`<div class="what-if">
    <input type="range" ...${bounds} aria-label=${msg`Slide ${label}`} aria-valuetext=${valueText(value, greedy)} />
    <input type="number" ...${bounds} aria-label=${msg`What-if ${label}`} />
    <small>${greedy ? UNUSED : field === "top_p" && value >= 1 && msg`off`}</small>
  </div>`;
}

/** From 1 to the whole vocabulary. On a linear scale all useful values would be in the first pixel. */
function TopK({ settings, greedy, set, vocab }) {
  const stops = useMemo(() => kStops(vocab), [vocab]);
  const k = settings.top_k;
  const label = msg`top-k`;
  const onSlide = ({ currentTarget }) => set(kAt(stops[currentTarget.valueAsNumber], vocab));
  const onType = ({ currentTarget }) => {
    const typed = currentTarget.valueAsNumber;
    if (typed >= 1) set(kAt(typed, vocab));
  };
  return html`<div class="what-if">
    <input
      type="range" min="0" max=${stops.length - 1} step="1" value=${indexOfK(stops, k)} onInput=${onSlide}
      aria-label=${msg`Slide ${label}`} aria-valuetext=${valueText(k || msg`${integer(vocab)}, off`, greedy)}
    />
    <input
      type="number" min="1" max=${vocab} step="1" value=${k || ""} placeholder=${msg`off`} onInput=${onType} aria-label=${msg`What-if ${label}`}
    />
    <small>${greedy ? UNUSED : k ? "" : msg`keeps all`}</small>
  </div>`;
}

function valueText(value, greedy) {
  return greedy ? msg`${value}, not used by greedy` : String(value);
}
