/** The model that answers, or how far its loading is. */

import { html } from "htm/preact";
import { shortDtype } from "../facts/dtypes.js";
import { bytesShort, counted } from "../facts/format.js";
import { weightsOf } from "../facts/weights.js";

/** @param {{readiness: Object, model?: Object}} props `model`: of the run in sight, where the server names none yet */
export function ModelPill({ readiness, model = null }) {
  return html`
    <div class="model line muted" data-readiness=${readiness.state} role="group" aria-label="Model">
      <span class="model-dot still" aria-hidden="true"></span>
      ${
        readiness.state === "ready"
          ? html`<${Ready} model=${readiness.model ?? model} compiled=${readiness.compiled} compiling=${readiness.compiling} />`
          : html`<${Loading} readiness=${readiness} />`
      }
    </div>
  `;
}

/** `compiled`: a line on its decode steps. While it will change it is what is seen; afterwards it is in the tip, with all the rest. */
function Ready({ model, before = "", compiled = "", compiling = false }) {
  if (!model) return html`<span class="cut">ready</span>`;
  const more = [
    counted(model.layers, "layer"),
    `${counted(model.heads, "head")} / ${model.kv_heads} KV`,
    shortDtype(model.dtype),
    model.weight_dtype !== model.dtype && `${shortDtype(model.weight_dtype)} weights`,
    model.device.toUpperCase(),
  ].filter(Boolean);
  const { stored, held } = weightsOf(model);
  const weights = [stored && `weights as stored: ${stored}`, `as held in memory: ${held}`];
  const title = [model.name, ...more, ...weights, compiled].filter(Boolean).join(" · ");
  if (compiling && compiled) return html`<span class="cut" title=${title}>${compiled}</span>`;
  return html`<span class="cut" title=${title}>${before}${model.name}<span class="model-more cut"> · ${more.join(" · ")}</span></span>`;
}

/** In a file no model runs; the one that the run was made by is named. */
export function ModelOfRun({ run }) {
  if (!run?.open) return null;
  return html`<div class="model line muted" role="group" aria-label="Model"><${Ready} model=${run.open.model} before="made by " /></div>`;
}

function Loading({ readiness }) {
  const { state, message, done, total } = readiness;
  if (state === "failed") return html`<span class="cut" title=${message}>model not loaded</span>`;
  if (state === "unreachable") return html`<span class="cut">server not reached</span>`;
  const known = total > 0;
  return html`
    <span class="cut">${message || "starting"}</span>
    ${known && html`<progress max=${total} value=${done} aria-label="Loading the model"></progress>`}
    ${known && html`<span class="model-more cut number">${bytesShort(done)} of ${bytesShort(total)}</span>`}
  `;
}
