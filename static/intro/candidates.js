/** What was likely after the prompt, and which of it was taken. All bars on one scale, 0 to 100 %. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { percent } from "../facts/format.js";
import { Token } from "../ui/token.js";
import { candidatesOf, othersInWords } from "./facts.js";

export function Candidates({ run, progress }) {
  const candidates = useMemo(() => candidatesOf(run), [run]);
  const grown = Math.min(1, progress / 0.3);
  return html`<div class="intro-candidates">
    <ol aria-label="Likely next tokens">${candidates.map(
      ({ token, share, chosen }) => html`<li key=${token.id} class=${chosen && progress > 0.45 ? "is-chosen" : ""}>
      <${Token} token=${token} limit=${14} />
      <span class="intro-bar"><i style=${`width:${((share ?? 0) * 100 * grown).toFixed(1)}%`}></i></span>
      <b>${share === null ? "given" : percent(share, 0)}</b>
    </li>`,
    )}</ol>
    <p>${othersInWords(run, candidates)}</p>
  </div>`;
}
