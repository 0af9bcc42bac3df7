/** The layer and the row of the drawing, and controls to change them. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { integer, tokenLabel } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { form, msg, nodes, plural } from "../../../shared/words/msg.js";

export function BlockControls({ run, scene, newest, locked, dispatch }) {
  const { layer, query } = scene;
  const token = html`<${Token} token=${run.tokens[query]} />`;
  const select = (selection) => dispatch({ type: "select", selection });
  const layerButton = (to, name, content) =>
    html`<button class="button small"
      type="button" disabled=${to < 0 || to >= run.layers} aria-label=${name} onClick=${() => select({ layer: to })}
    >${content}</button>`;
  const options = useOptions(run, newest + 1);
  return html`<div class="row" data-names="layers">
    <h2>${msg`Layer ${layer} of ${run.layers}`} <small>${nodes`row (vectors) of ${token}`}</small></h2>
    <span class="block-layers line" role="group" aria-label=${msg`Layer`}>
      ${layerButton(layer - 1, msg`Open the layer below`, `◀ ${layer > 0 ? `L${layer - 1}` : ""}`)}
      ${layerButton(layer + 1, msg`Open the layer above`, `${layer + 1 < run.layers ? `L${layer + 1}` : ""} ▶`)}
    </span>
    <span class="block-row row muted push">
      ${stepText(scene)}
      <label class="line">
        ${msg`Row`}
        <select
          aria-label=${msg`Row`} value=${locked ? String(query) : ""}
          onChange=${(event) => select({ query: event.target.value === "" ? null : Number(event.target.value) })}
        >
          <option value="">${msg`newest: ${tokenLabel(run.tokens[newest])}`}</option>
          ${options.slice(0, newest + 1)}
        </select>
      </label>
    </span>
  </div>`;
}

function stepText({ run, step, prefill, rows: count }) {
  const [rows, passes] = [integer(count), run.prefillPasses];
  if (!prefill) return msg`step ${step}, decode: one row`;
  if (passes > 1) return msg`step ${step}, prefill: ${rows} rows in ${passes} passes`;
  return plural(count, form`step ${step}, prefill: ${rows} token`, form`step ${step}, prefill: ${rows} tokens at once`);
}

/** One option per position. They are reused: creating hundreds again would take most of the time of a step. */
function useOptions(run, count) {
  const options = useMemo(() => [], [run]);
  for (let position = options.length; position < count; position++) {
    const name = `${position}: ${tokenLabel(run.tokens[position])}`;
    options.push(
      html`<option key=${position} value=${String(position)} disabled=${position < run.reused}>${name}</option>`,
    );
  }
  return options;
}
