/** How the logits of the whole vocabulary are spread: one bar per part of the range, on a logarithmic scale of counts. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { fixed, integer } from "../../../shared/facts/format.js";
import { logitHistogram } from "./token-path.js";

const BARS = 32;

/** @param {{path: Object}} props `path` of `tokenPath` */
export function LogitHistogram({ path }) {
  const { logits, vocab } = path;
  const counts = useMemo(() => logitHistogram(logits, BARS), [logits.listed, BARS]);
  const most = Math.log1p(Math.max(...counts));
  const text = `All ${integer(vocab)} logits, ${fixed(logits.low, 1)} to ${fixed(logits.high, 1)}; bars count tokens, on a logarithmic scale`;
  return html`<svg class="logit-histogram fill" viewBox=${`0 0 ${BARS} 10`} preserveAspectRatio="none" role="img" aria-label=${text}>
    <title>${text}</title>
    ${counts.map((count, bar) => {
      const tall = (10 * Math.log1p(count)) / most;
      return count > 0 && html`<rect key=${bar} x=${bar + 0.1} y=${10 - tall} width="0.8" height=${tall} />`;
    })}
  </svg>`;
}
