/** The distribution of all logits of a step: one bar per part of the range; counts on a logarithmic scale. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { fixed, integer } from "../../../shared/facts/format.js";
import { msg } from "../../../shared/words/msg.js";
import { logitHistogram } from "./token-path.js";

const BARS = 32;

/** @param {{path: Object}} props `path` of `tokenPath` */
export function LogitHistogram({ path }) {
  const { logits, vocab } = path;
  const counts = useMemo(() => logitHistogram(logits, BARS), [logits.listed, BARS]);
  const most = Math.log1p(Math.max(...counts));
  const text = msg`${integer(vocab)} logits from ${fixed(logits.low, 1)} to ${fixed(logits.high, 1)}. The bars count tokens on a logarithmic scale.`;
  return html`<svg class="logit-histogram fill" viewBox=${`0 0 ${BARS} 10`} preserveAspectRatio="none" role="img" aria-label=${text}>
    <title>${text}</title>
    ${counts.map((count, bar) => {
      const tall = (10 * Math.log1p(count)) / most;
      return count > 0 && html`<rect key=${bar} x=${bar + 0.1} y=${10 - tall} width="0.8" height=${tall} />`;
    })}
  </svg>`;
}
