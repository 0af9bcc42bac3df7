/** Zoom "pair": one query and one key, from their numbers to what the key adds to the head's output. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { dotProduct } from "../../model/dot-product.js";
import { bareLabel } from "../../model/format.js";
import { pairReason, pairSentence } from "../../model/pair-words.js";
import { NOT_STORED } from "../../model/saved-run.js";
import { Mix } from "../pair/mix.js";
import { Terms } from "../pair/terms.js";

const NOTES = {
  idle: "Pause, or choose a key, to see its numbers.",
  loading: "Asking the model for the exact numbers…",
  none: `The exact numbers are ${NOT_STORED}. The share above is from the run's log, ± 0.004.`,
  failed: "The exact numbers need the model, which is not there. The share above is from the run's log, ± 0.004.",
};

export function PairView({ state, focus, exact, dispatch }) {
  const { run, playing } = state;
  const { layer, head, query, key } = focus;
  const { status, values, row } = exact;
  const pair = useMemo(() => (values ? dotProduct(values, { row, key, query }) : null), [values, row, key, query]);
  const names = { query: bareLabel(run.tokens[query], 9), key: bareLabel(run.tokens[key], 9) };
  const weight = pair?.weight ?? run.weight(layer, head, query, key);
  const parts = { pair, names };
  return html`<div class="pair">
    <h2 aria-live=${playing ? "off" : "polite"}>${pairSentence(run, focus, weight)}</h2>
    <p class="pair-lead">${pairReason(focus)}</p>
    <${Terms} ...${parts} headDim=${run.open.model.head_dim} note=${NOTES[status]} />
    ${pair && html`<${Mix} ...${parts} run=${run} focus=${focus} values=${values} row=${row} dispatch=${dispatch} />`}
  </div>`;
}
