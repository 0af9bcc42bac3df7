/** Chooses what replaces a part, how an effect is measured, and the token that the step's token is compared with. */

import { html } from "htm/preact";
import { quoted } from "../../../shared/facts/format.js";
import { mostOf } from "../../../shared/log/limits.js";
import { msg } from "../../../shared/words/msg.js";
import { choiceOf, choose } from "../../state/effects.js";
import { MEASURES, SWITCHES } from "./words.js";

const FOILS = 16;

export function Switching({ state, step, dispatch }) {
  const { run } = state;
  const choice = choiceOf(state);
  const { says } = SWITCHES.find(({ by }) => by === choice.switch);
  const set = (part) => choose(state, dispatch, part);
  const { token, top_tokens: top } = run.steps[step].data;
  const others = top.filter(({ id }) => id !== token.id).slice(0, FOILS);
  return html`<div class="effect-choice" role="group" aria-label=${msg`How effects are measured`}>
    <label class="line">${msg`Replace a part by`}
      <select value=${choice.switch} onChange=${(event) => set({ switch: event.target.value })}>${SWITCHES.map(({ by, name }) => html`<option key=${by} value=${by}>${name}</option>`)}</select>
    </label>
    <label class="line">${msg`Measure the`}
      <select value=${choice.measure} onChange=${(event) => set({ measure: event.target.value })}>${MEASURES.map(({ measure, name }) => html`<option key=${measure} value=${measure}>${name}</option>`)}</select>
    </label>
    ${
      choice.measure === "difference" &&
      html`<label class="line">${msg`Foil`}
        <select value=${String(choice.foil ?? "")} onChange=${({ target }) => set({ foil: target.value === "" ? null : Number(target.value) })}>
          <option value="">${others.length ? msg`${quoted(others[0])} (likeliest other)` : msg`likeliest other`}</option>
          ${others.slice(1).map((each) => html`<option key=${each.id} value=${String(each.id)}>${quoted(each)}</option>`)}
        </select>
      </label>`
    }
    ${choice.switch === "resample" && html`<${OtherPrompt} state=${state} dispatch=${dispatch} />`}
    ${
      choice.switch === "reference" &&
      html`<label class="effect-text">${msg`Reference prompts, one per line; empty: the eight short ones that ship with KVScope`}
        <textarea rows="3" maxlength=${mostOf(state.limits, "effects", "source")} value=${choice.reference} onInput=${(event) => set({ reference: event.target.value })}></textarea>
      </label>`
    }
    <p class="muted small">${[says, ...withEveryRow(run, choice.switch)].join(" ")}</p>
  </div>`;
}

/** @returns {string[]} sentences on which rows are replaced, and from what */
function withEveryRow({ open }, by) {
  return [
    by === "resample"
      ? msg`Every row gets it. In a run without changes, if both prompts begin alike, the rows of that beginning stay as they were.`
      : msg`Every row gets it, also the first, on which many heads rest their attention: a large effect may come from there.`,
    ["mean", "reference"].includes(by) && open.chat && msg`Rows of the chat template count too.`,
    open.changed &&
      by !== "zero" &&
      msg`This run has changes, and what replaces the part is computed without them: also rows that would else stay the same can change.`,
  ].filter(Boolean);
}

/** The text of another prompt of the same number of tokens. */
export function OtherPrompt({ state, dispatch }) {
  const { run } = state;
  return html`<label class="effect-text">${msg`Another prompt, with ${run.promptLength} tokens as this one`}
    <input type="text" maxlength=${mostOf(state.limits, "effects", "source")} value=${choiceOf(state).resample} placeholder=${msg`the same sentence with another name, for example`}
      onInput=${(event) => choose(state, dispatch, { resample: event.target.value })} />
  </label>`;
}
