/** A what-if slider over the step in sight. Moving one asks what sampling would do, also of a greedy run. */

import { html } from "htm/preact";
import { Term } from "../words/term.js";

const TOP_K_OFF = 101;

const SLIDERS = [
  {
    name: "temperature",
    term: "temperature",
    label: "What-if temperature",
    text: "temperature",
    min: 0.1,
    max: 2,
    step: 0.05,
    read: ({ temperature }) => temperature,
    write: (value) => ({ temperature: value }),
    shown: (value) => value.toFixed(2),
  },
  {
    name: "top_k",
    term: "top-k",
    label: "What-if top-k",
    text: "top-k",
    min: 1,
    max: TOP_K_OFF,
    step: 1,
    read: ({ top_k: k }) => (k ? Math.min(k, TOP_K_OFF - 1) : TOP_K_OFF),
    write: (value) => ({ top_k: value === TOP_K_OFF ? 0 : value }),
    shown: (_value, { top_k: k }) => (k ? String(k) : "off"),
  },
  {
    name: "top_p",
    term: "top-p",
    label: "What-if top-p",
    text: "top-p",
    min: 0.05,
    max: 1,
    step: 0.01,
    read: ({ top_p: p }) => p,
    write: (value) => ({ top_p: value }),
    shown: (value) => (value >= 1 ? "off" : value.toFixed(2)),
  },
];

/** @param {{name: "temperature"|"top_k"|"top_p", settings: Object, dispatch: Function}} props */
export function SamplingSlider({ name, settings, dispatch }) {
  const { label, term, text, min, max, step, read, write, shown } = SLIDERS.find((slider) => slider.name === name);
  const greedy = settings.strategy === "greedy";
  const value = read(settings);
  const words = shown(value, settings);
  const onInput = (event) =>
    dispatch({ type: "whatIf", patch: { strategy: "sample", ...write(Number(event.currentTarget.value)) } });
  return html`<label class="slider">
    <span><${Term} id=${term} stop=${false}>${text}<//></span>
    <input
      type="range" aria-label=${label} aria-valuetext=${greedy ? `${words}, not used by greedy` : words}
      min=${min} max=${max} step=${step} value=${value} onInput=${onInput}
    />
    <b aria-hidden="true">${greedy ? "greedy" : words}</b>
  </label>`;
}
