/** In a static site, above a view of exact values of a recording: loads the model that computes them, or says which one they need. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { isOfOtherModel } from "../../shared/log/model.js";
import { msg } from "../../shared/words/msg.js";

/** @param {{run: Object, readiness: Object, client: Object, controller: Object}} props */
export function ExactHere({ run, readiness: { state, model }, client, controller }) {
  const [described, setDescribed] = useState(false);
  const unknown = state === "offered" && !model && !described;
  useEffect(() => {
    if (!unknown) return;
    // If it cannot be described, loading it says why.
    client.here.describe().then(controller.followModels, () => setDescribed(true));
  }, [unknown, client, controller]);
  if (isOfOtherModel(run, model)) {
    const [needed, here] = namesOf(run.open.model, model);
    return html`<p class="message line on-line" role="status">
      <span>${msg`This view shows exact values. They need ${needed}, which computed this recording; the model of this page is ${here}.`}</span>
    </p>`;
  }
  if (state !== "offered" || unknown) return null;
  return html`<p class="message line on-line" role="status">
    <span>${msg`This view shows exact values. The model computes them on this device, inside this page, when it is loaded.`}</span>
    <button class="button push" type="button" id="load-here" onClick=${controller.loadModelHere}>${msg`Load the model`}</button>
  </p>`;
}

/** Returns the names of two models; with the beginning of their sums if they have the same name, as quantized ones of one model do. */
function namesOf(...models) {
  const [one, other] = models.map(({ name }) => name);
  return models.map(({ name, sha256 }) => (one === other ? `${name} (sha256 ${sha256.slice(0, 8)}…)` : name));
}
