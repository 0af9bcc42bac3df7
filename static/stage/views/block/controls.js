/** Which layer and which row the drawing of a block is of, and ways to others. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { counted, tokenLabel } from "../../../shared/facts/format.js";
import { passesInWords } from "../../../shared/facts/passes.js";
import { Token } from "../../../shared/ui/token.js";

export function BlockControls({ run, scene, newest, locked, dispatch }) {
  const { layer, query, step, prefill, rows } = scene;
  const select = (selection) => dispatch({ type: "select", selection });
  const layerButton = (to, name, content) =>
    html`<button class="button small"
      type="button" disabled=${to < 0 || to >= run.layers} aria-label=${name} onClick=${() => select({ layer: to })}
    >${content}</button>`;
  const options = useOptions(run, newest + 1);
  return html`<div class="row">
    <h2>Layer ${layer} <small>of ${run.layers}, opened for <${Token} token=${run.tokens[query]} /></small></h2>
    <span class="block-layers line" role="group" aria-label="Layer">
      ${layerButton(layer - 1, "Open the layer below", `◀ ${layer > 0 ? `L${layer - 1}` : ""}`)}
      ${layerButton(layer + 1, "Open the layer above", `${layer + 1 < run.layers ? `L${layer + 1}` : ""} ▶`)}
    </span>
    <span class="block-row row muted push">
      step ${step}, ${prefill ? `prefill: ${counted(rows, "row")} ${passesInWords(run)}` : "decode: one row"}
      <label class="line">
        row
        <select
          aria-label="Row" value=${locked ? String(query) : ""}
          onChange=${(event) => select({ query: event.target.value === "" ? null : Number(event.target.value) })}
        >
          <option value="">newest: ${tokenLabel(run.tokens[newest])}</option>
          ${options.slice(0, newest + 1)}
        </select>
      </label>
    </span>
  </div>`;
}

/** An option per position, each made once: hundreds of them for every step would be most of what a step costs. */
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
