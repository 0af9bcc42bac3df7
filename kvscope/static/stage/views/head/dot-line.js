/** One attention weight on one line: q·k, the scaling, the softmax. A button opens the products. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bareLabel, bounded, fixed } from "../../../shared/facts/format.js";
import { lacking } from "../../../shared/facts/lacking.js";
import { cappedText } from "../../../shared/log/model.js";
import { Badge } from "../../../shared/ui/badge.js";
import { form, msg, nodes, plural } from "../../../shared/words/msg.js";
import { dotProduct } from "../pair/dot-product.js";
import { Vector } from "../pair/vector.js";

/** @param {{state: Object, focus: Object, exact: Object, dispatch: Function}} props `exact`: of `useHeadValues` */
export function DotLine({ state, focus, exact, dispatch }) {
  const { run } = state;
  const { layer, head, query, key } = focus;
  const { status, values, row, stored } = exact;
  const first = run.firstKey(layer, query);
  const pair = useMemo(
    () => (values ? dotProduct(values, { row, key, query, first }) : null),
    [values, row, query, key, first],
  );
  const { score_width: scoreWidth, score_cap: cap } = run.open.model;
  if (key === null)
    return html`<section class="dot-line line on-line wide still between" aria-label=${msg`This query and this key`}><${Awaited} cap=${cap} /></section>`;
  const names = { query: bareLabel(run.tokens[query], 9), key: bareLabel(run.tokens[key], 9) };
  const onOpen = () => dispatch({ type: "enter", selection: { query, key, view: "pair" } });
  return html`<section class="dot-line line on-line wide still between" aria-label=${msg`This query and this key`}>
    <p>
      <${Vector} name="q" of=${names.query} /> · <${Vector} name="k" of=${names.key} />${" "}
      ${
        pair
          ? html`= <b>${fixed(pair.dot, 2)}</b> ÷ √${scoreWidth} = <${Score} pair=${pair} scoreWidth=${scoreWidth} cap=${cap} /> → ${softmaxOver(pair.keys)} →${" "}
              <b>${bounded(pair.weight, 3)}</b>`
          : html`${scoreWidth && html`÷ √${scoreWidth} `}→ ${cap && html`${cappedText("s", cap)} → `}${msg`softmax`} → <b>${fixed(run.weight(layer, head, query, key), 3)}</b> ± 0.004`
      } <${Badge} origin="computed" />
      ${pair && stored && html` <span class="dot-why muted">${msg`stored with this session`}</span>`}
      ${WHY[status] && html` <span class="dot-why muted">${lacking(run, ["scores"]) ?? WHY[status]}</span>`}
    </p>
    <button type="button" class="button small still" onClick=${onOpen}>${msg`Term by term`} ▸</button>
  </section>`;
}

const softmaxOver = (keys) => plural(keys, form`softmax over ${keys} key`, form`softmax over ${keys} keys`);

/** The score, and before it the number that the model caps, if it caps scores. */
function Score({ pair, scoreWidth, cap }) {
  const score = html`<b>${fixed(pair.score, 2)}</b>`;
  if (!cap) return score;
  const uncapped = fixed(pair.dot / Math.sqrt(scoreWidth), 2);
  return html`<b>${uncapped}</b> → ${cappedText(uncapped, cap)} = ${score}`;
}

/** The formula without numbers, while there is no weight yet. */
function Awaited({ cap }) {
  const [q, k, v] = ["q", "k", "v"].map((name) => html`<${Vector} name=${name} />`);
  if (cap)
    return html`<p>${nodes`${q} · ${k} ÷ √d → ${cappedText("s", cap)} → softmax → weight; then weight × ${v}`}</p>`;
  return html`<p>${nodes`${q} · ${k} ÷ √d → softmax → weight; then weight × ${v}`}</p>`;
}

/** Why the exact numbers are missing. */
const WHY = {
  loading: msg`Asking the model…`,
  none: msg`Exact values are not stored with this session, and its model cannot be asked for them here.`,
  unavailable: msg`The exact values come from the model, which is not ready.`,
  damaged: msg`The exact values stored with this session are damaged.`,
  failed: msg`The model did not give the exact values.`,
};
