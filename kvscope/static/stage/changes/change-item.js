/** A change in the list: where it is made, what it does, and from which step. */

import { html } from "htm/preact";
import {
  changeInWords,
  fitted,
  hasFactor,
  hasHead,
  hasLayer,
  hasSource,
  headsAt,
  isCached,
} from "../../shared/facts/changes.js";
import { tokenLabel } from "../../shared/facts/format.js";
import { limitOf } from "../../shared/log/limits.js";
import { msg } from "../../shared/words/msg.js";
import { opsAt, sitesOf } from "./choices.js";
import { SecondPrompt } from "./second-prompt.js";

/** The range of each slider; the field beside it takes any number that the server allows. */
const SLIDERS = { scale: { low: -1, high: 3, step: 0.05 }, steer: { low: -10, high: 10, step: 0.25 } };
const LABEL_CHARS = 12;

/**
 * @param {{index: number, change: import("../../shared/facts/changes.js").Change, problem: {member: string, message: string}|null,
 *   state: Object, dispatch: Function, client: Object}} props `problem`: of the API, about this change
 */
export function ChangeItem({ index, change, problem, state, dispatch, client }) {
  const { run, step } = state;
  const { model, limits } = run.open;
  const set = (patch, edited = null) =>
    dispatch({ type: "setChange", index, change: bounded(fitted({ ...change, ...patch }), model), edited });
  const id = `change-${index}`;
  const described = { "aria-describedby": problem ? `${id}-problem` : undefined };
  const bad = (member) => (problem?.member === member ? { "aria-invalid": "true", ...described } : {});
  const positions = change.op === "patch" ? run.promptLength : run.tokens.length;
  const name = changeInWords(change, run.tokens);
  return html`<fieldset class="change stack tight" aria-label=${name}>
    <div class="line between on-line">
      <b class="change-name">${name}</b>
      <button class="button small still" type="button" aria-label=${msg`Remove: ${name}`} onClick=${() => dispatch({ type: "removeChange", index })}>${msg`Remove`}</button>
    </div>
    <div class="row small">
      <${Choice} label=${msg`Where`} value=${change.site} options=${sitesOf(model).map(({ site, name }) => [site, name])} bad=${bad("site")} onChange=${(site) => set({ site })} />
      ${hasLayer(change) && html`<${Choice} label=${msg`Layer`} value=${change.layer} options=${numbers(model.layers)} bad=${bad("layer")} onChange=${(layer) => set({ layer: Number(layer) })} />`}
      ${hasHead(change) && html`<${Choice} label=${headName(change)} value=${change.head} options=${numbers(headsAt(change, model))} bad=${bad("head")} onChange=${(head) => set({ head: Number(head) })} />`}
      <${Choice}
        label=${msg`Token`} value=${change.position ?? ""} bad=${bad("position")}
        options=${[...(change.site === "token" ? [] : [["", msg`all tokens`]]), ...tokensUpTo(run, Math.max(positions, (change.position ?? 0) + 1))]}
        onChange=${(position) => set({ position: position === "" ? null : Number(position) })}
      />
    </div>
    <div class="row small">
      <${Choice} label=${msg`How`} value=${change.op} options=${opsAt(change).map(({ op, name }) => [op, name])} bad=${bad("op")} onChange=${(op) => set({ op, factor: op === "scale" ? 0.5 : 1 })} />
      ${
        change.op !== "patch" &&
        html`<${Choice}
          label=${msg`From`} value=${change.from_step} bad=${bad("from_step")} options=${stepsFrom(change.from_step, step, limits.max_new_tokens)}
          onChange=${(from) => set({ from_step: Number(from) })}
        />`
      }
    </div>
    ${change.site === "token" && change.op === "zero" && html`<${LeftOut} position=${change.position} run=${run} step=${step} dispatch=${dispatch} />`}
    ${hasFactor(change) && html`<${Factor} change=${change} limits=${limitOf(state.limits, "change", "factor")} bad=${bad("factor")} onChange=${(factor) => set({ factor }, "factor")} />`}
    ${hasSource(change) && html`<${SecondPrompt} member="source" change=${change} state=${state} client=${client} bad=${bad("source")} onChange=${(source) => set({ source }, "source")} />`}
    ${change.op === "steer" && html`<${SecondPrompt} member="away" change=${change} state=${state} client=${client} bad=${bad("away")} onChange=${(away) => set({ away }, "away")} />`}
    ${problem && html`<p class="word-bad small" role="alert" id=${`${id}-problem`}>${problem.message}</p>`}
  </fieldset>`;
}

/** Leads to the view of effects, which leaves a token out of the text instead of changing its row. */
function LeftOut({ position, run, step, dispatch }) {
  const first = Math.max(step, position - run.promptLength + 1);
  const show = () => {
    if (first !== step) dispatch({ type: "seek", step: first });
    dispatch({ type: "enter", selection: { view: "effects", query: null, key: position } });
  };
  return html`<p class="small">
    <span class="muted">${msg`The text keeps its length, with zeros at this position. Leaving the token out makes it shorter, with other numbers.`}</span>
    ${first < run.steps.length && html` <button type="button" class="link-button" onClick=${show}>${msg`Leave it out, in Effects`}</button>`}
  </p>`;
}

function headName(change) {
  if (change.site === "expert") return msg`Expert`;
  return isCached(change) ? msg`KV head` : msg`Head`;
}

/** Replaces a head that the new site does not have by its last one. */
function bounded(change, model) {
  return hasHead(change) ? { ...change, head: Math.min(change.head, headsAt(change, model) - 1) } : change;
}

const numbers = (count) => Array.from({ length: count }, (_, i) => [i, String(i)]);

function tokensUpTo(run, count) {
  return Array.from({ length: count }, (_, position) => {
    const token = run.tokens[position];
    return [position, token ? `${position}: ${tokenLabel(token, LABEL_CHARS)}` : String(position)];
  });
}

/** The start, the shown step, and the chosen one. */
function stepsFrom(chosen, inSight, most) {
  const steps = [...new Set([0, chosen, Math.min(inSight, most)])].sort((a, b) => a - b);
  return steps.map((step) => [
    step,
    step === 0 ? msg`the start` : step === inSight ? msg`step ${step}, in sight` : msg`step ${step}`,
  ]);
}

function Choice({ label, value, options, bad, onChange }) {
  return html`<label class="line tight">
    <span class="muted">${label}</span>
    <select aria-label=${label} value=${String(value)} onChange=${(event) => onChange(event.target.value)} ...${bad}>
      ${options.map(([id, name]) => html`<option key=${id} value=${String(id)}>${name}</option>`)}
    </select>
  </label>`;
}

function Factor({ change, limits, bad, onChange }) {
  const { low, high, step } = SLIDERS[change.op];
  const [least, most] = limits;
  const label = change.op === "scale" ? msg`Multiply by` : msg`Strength`;
  const onNumber = ({ target }) => Number.isFinite(target.valueAsNumber) && onChange(target.valueAsNumber);
  return html`<div class="line small">
    <span class="muted nowrap">${label}</span>
    <input class="grow" type="range" aria-label=${label} min=${low} max=${high} step=${step} value=${change.factor} onInput=${({ target }) => onChange(target.valueAsNumber)} />
    <input class="change-factor" type="number" aria-label=${msg`${label}, as a number`} min=${least} max=${most} step="any" value=${change.factor} onChange=${onNumber} ...${bad} />
  </div>`;
}
