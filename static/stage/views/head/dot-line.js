/** One cell in a line: q·k, the scaling, the softmax; its numbers are one zoom further in. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bareLabel, bounded, counted, fixed } from "../../../shared/facts/format.js";
import { DAMAGED, NOT_STORED } from "../../../shared/facts/saved-session.js";
import { Badge } from "../../../shared/ui/badge.js";
import { dotProduct } from "../pair/dot-product.js";
import { Vector } from "../pair/vector.js";

/** @param {{state: Object, focus: Object, exact: Object, dispatch: Function}} props `exact` as `useHeadValues` gives it */
export function DotLine({ state, focus, exact, dispatch }) {
  const { run } = state;
  const { layer, head, query, key } = focus;
  const { status, values, row, stored } = exact;
  const pair = useMemo(() => (values ? dotProduct(values, { row, key, query }) : null), [values, row, query, key]);
  if (key === null)
    return html`<section class="dot-line line on-line wide still between" aria-label="This query and this key"><${Awaited} /></section>`;
  const names = { query: bareLabel(run.tokens[query], 9), key: bareLabel(run.tokens[key], 9) };
  const onOpen = () => dispatch({ type: "enter", selection: { query, key, view: "pair" } });
  return html`<section class="dot-line line on-line wide still between" aria-label="This query and this key">
    <p>
      <${Vector} name="q" of=${names.query} /> · <${Vector} name="k" of=${names.key} />${" "}
      ${
        pair
          ? html`= <b>${fixed(pair.dot, 2)}</b> ÷ √${pair.headDim} = <b>${fixed(pair.score, 2)}</b> → softmax over ${counted(pair.keys, "key")} →${" "}
              <b>${bounded(pair.weight, 3)}</b>`
          : html`÷ √${run.open.model.head_dim} → softmax → <b>${fixed(run.weight(layer, head, query, key), 3)}</b> ± 0.004`
      } <${Badge} origin="computed" />
      ${pair && stored && html` <span class="dot-why muted">stored with this session</span>`}
      ${WHY[status] && html`<span class="dot-why muted">${WHY[status]}</span>`}
    </p>
    <button type="button" class="button small still" onClick=${onOpen}>Term by term ▸</button>
  </section>`;
}

/** What a cell will be opened into. */
function Awaited() {
  return html`<p><${Vector} name="q" /> · <${Vector} name="k" /> ÷ √d → softmax → weight; weight × <${Vector} name="v" /> goes on</p>`;
}

/** Why the exact numbers are not here. */
const WHY = {
  loading: "Asking the model…",
  none: `Exact values are ${NOT_STORED}.`,
  damaged: `Exact values are ${DAMAGED}.`,
  failed: "Exact values need the model.",
};
