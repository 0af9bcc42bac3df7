/** The choice of the model for the next run, on a server that has several. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { bytesShort } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { chosenModel, isOnItsWay, memoryText, peculiarities, sizeText, stateText } from "../facts/models.js";

export function ModelPicker({ state, dispatch, controller }) {
  useEffect(controller.followModels, [controller]);
  const { models } = state;
  const chosen = chosenModel(state);
  if (!chosen) return null;
  const onChange = ({ target }) => dispatch({ type: "settings", patch: { model: target.value } });
  return html`<div class="model-picker stack">
    <label class="line muted">
      ${msg`model`}
      <select id="model" value=${chosen.name} aria-describedby="about-model" onChange=${onChange}>
        ${models.map(
          (model) => html`<option key=${model.name} value=${model.name} disabled=${model.refusal !== null}>
            ${model.name} · ${stateText(model)} · ${sizeText(model)}
          </option>`,
        )}
      </select>
    </label>
    <${About} model=${chosen} onLoad=${() => controller.loadModel(chosen.name)} />
    ${models
      .filter(({ refusal }) => refusal)
      .map(({ name, refusal }) => html`<p key=${name} class="muted breaks"><b>${name}:</b> ${refusal}</p>`)}
  </div>`;
}

function About({ model, onLoad }) {
  const { name, state, shows, done, total, message, refusal } = model;
  const about = shows || (model.model ? peculiarities(model.model).join(" ") : "");
  return html`<div id="about-model" class="about-model row muted">
    <span class="breaks">${about} ${memoryText(model)}</span>
    ${
      isOnItsWay(model) &&
      html`<span class="line" role="status">${message}
        ${total > 0 && html`<progress max=${total} value=${done} aria-label=${msg`Loading ${name}`}></progress> ${msg`${bytesShort(done)} of ${bytesShort(total)}`}`}
      </span>`
    }
    ${state === "failed" && html`<span class="word-bad breaks" role="status">${message}</span>`}
    ${
      state === "unloaded" &&
      !refusal &&
      html`<span class="line">${msg`Its first run loads it.`} <button class="button" type="button" onClick=${onLoad}>${msg`Load it now`}</button></span>`
    }
  </div>`;
}
