/** The answer of a changed run beside that of its original: what differs in a sentence, and both token by token. */

import { html } from "htm/preact";
import { TokenColumns } from "../../shared/compare/token-columns.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";
import { compareLink } from "../facts/compare-link.js";
import { effectSentence, useComparison } from "./effect.js";

export function BesideOriginal({ state, dispatch }) {
  const compared = useComparison(state);
  if (!compared) return null;
  const { original, run, aligned } = compared;
  const { promptLength } = run;
  const columns = aligned.columns.filter(({ a, b }) => Math.max(a ?? 0, b ?? 0) >= promptLength);
  const first = columns.findIndex(({ same }) => !same);
  const current = columns.findIndex(({ b }) => b === promptLength + state.step);
  const onPick = (at) => {
    const { b } = columns[at];
    return b === null ? null : () => dispatch({ type: "seek", step: b - promptLength });
  };
  return html`<section class="beside-original whole" aria-label=${msg`Beside the original`}>
    <div class="stack tight">
      <p class="changed-effect" role="status">${effectSentence(original, run, aligned)} <${Badge} origin="computed" /></p>
      <p class="muted small">${msg`Original above, this run below.`} ${first >= 0 && html`<span class="beside-mark">${msg`▼ marks the first token that differs.`}</span>`} <a href=${compareLink(original.id, run.id)}>${msg`Compare everything`}</a></p>
    </div>
    <${TokenColumns}
      columns=${columns} a=${original} b=${run} current=${current < 0 ? null : current} parting=${first < 0 ? null : first}
      label=${msg`Both answers, the original above`} onPick=${onPick}
    />
  </section>`;
}
