/** The model that answers, or the progress of its loading. */

import { html } from "htm/preact";
import { bytesShort } from "../facts/format.js";
import { mainFormat, weightsOf } from "../facts/weights.js";
import { form, msg, plural } from "../words/msg.js";

/** @param {{readiness: Object, model?: Object}} props `model`: of the current run, used until the server names its model */
export function ModelPill({ readiness, model = null }) {
  return html`
    <div class="model line muted" data-readiness=${readiness.state} role="group" aria-label=${msg`Model`}>
      <span class="model-dot still" aria-hidden="true"></span>
      ${
        readiness.state === "ready"
          ? html`<${Ready} model=${readiness.model ?? model} compiled=${readiness.compiled} />`
          : html`<${Loading} readiness=${readiness} />`
      }
    </div>
  `;
}

/** Shows a model that is ready; `compiled`: the server's line about what it compiled, for the tooltip. */
function Ready({ model, label = model?.name, compiled = "" }) {
  if (!model) return html`<span class="cut">${msg`ready`}</span>`;
  const { layers, heads, kv_heads: kvHeads } = model;
  const more = [
    plural(layers, form`${layers} layer`, form`${layers} layers`),
    kvHeads === undefined
      ? plural(heads, form`${heads} head`, form`${heads} heads`)
      : plural(heads, form`${heads} head / ${kvHeads} KV`, form`${heads} heads / ${kvHeads} KV`),
    model.weights && mainFormat(model),
    model.device?.toUpperCase(),
  ].filter(Boolean);
  const { stored, held } = model.weights ? weightsOf(model) : { stored: null, held: null };
  const weights = [stored && msg`weights in the file: ${stored}`, held && msg`weights in memory: ${held}`];
  const title = [model.name, ...more, ...weights, compiled].filter(Boolean).join(" · ");
  return html`<span class="cut" title=${title}>${label}<span class="model-more cut"> · ${more.join(" · ")}</span></span>`;
}

/** Shows the model that computed the run: in a saved file no model runs. */
export function ModelOfRun({ run }) {
  if (!run?.open) return null;
  return html`<div class="model line muted" role="group" aria-label=${msg`Model`}><${Ready} model=${run.open.model} label=${computedBy(run.open.model)} /></div>`;
}

/** @returns {string} which model computed the run, and by which program, if that was not KVScope */
function computedBy({ name, computed_by: by }) {
  if (by === undefined) return msg`computed by ${name}`;
  return by.startsWith(name) ? msg`computed by ${by}` : msg`${name}, computed by ${by}`;
}

function Loading({ readiness }) {
  const { state, message, done, total } = readiness;
  if (state === "failed") return html`<span class="cut" title=${message}>${msg`model not loaded`}</span>`;
  if (state === "none") return html`<span class="cut" title=${message}>${msg`no model`}</span>`;
  if (state === "unreachable") return html`<span class="cut">${msg`server not reached`}</span>`;
  if (state === "offered") return html`<span class="cut" title=${message}>${msg`no model yet`}</span>`;
  const known = total > 0;
  return html`
    <span class="cut">${message || msg`starting`}</span>
    ${known && html`<progress max=${total} value=${done} aria-label=${msg`Loading the model`}></progress>`}
    ${known && html`<span class="model-more cut number">${msg`${bytesShort(done)} of ${bytesShort(total)}`}</span>`}
  `;
}
