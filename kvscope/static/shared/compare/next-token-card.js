/** The next-token distributions of both runs: bars of A above bars of B. */

import { html } from "htm/preact";
import { bounded, integer, percent } from "../facts/format.js";
import { Badge } from "../ui/badge.js";
import { Token } from "../ui/token.js";
import { msg } from "../words/msg.js";
import { sameModel } from "./alignment.js";
import { divergence, likeliest } from "./next-token.js";

/** @param {{a: import("./differences.js").Side, b: import("./differences.js").Side, label?: string}} props `label`: name of its region */
export function NextTokenCard({ a, b, label = msg`Next token` }) {
  const rows = likeliest(a, b);
  return html`<section class="own-card stack box" aria-label=${label}>
    <h2>${msg`Next token`} <${Badge} origin="computed" /></h2>
    <p class="muted small">${msg`Probabilities before temperature and filters. Top tokens only: a log lists the 256 likeliest.`}</p>
    <table class="compare-bars">
      <thead class="visually-hidden"><tr><th scope="col">${msg`token`}</th><th scope="col">A</th><th scope="col">B</th></tr></thead>
      <tbody>${rows.map(
        (row) => html`<tr key=${row.token.bytes}>
          <th scope="row"><${Token} token=${row.token} /></th>
          <td><${Bar} name="A" side=${row.a} chosen=${row.chosenA} /></td>
          <td><${Bar} name="B" side=${row.b} chosen=${row.chosenB} /></td>
        </tr>`,
      )}</tbody>
    </table>
    <p class="small"><${Divergence} a=${a} b=${b} /></p>
  </section>`;
}

function Bar({ name, side, chosen }) {
  const { p, below } = side;
  const value = p === null ? `<${percent(below).replace("<", "")}` : percent(p);
  return html`<span class=${`compare-bar line is-${name.toLowerCase()}`}>
    <b class="muted" aria-hidden="true">${name}</b>
    <span class="track is-whole tone-output grow"><i style=${`width:${(100 * (p ?? 0)).toFixed(2)}%`}></i></span>
    <span class="number nowrap">${value}</span>
    <span class=${`chip is-output${chosen ? "" : " is-absent"}`} aria-hidden=${!chosen}>${msg`chosen`}</span>
  </span>`;
}

function Divergence({ a, b }) {
  if (!sameModel(a.run, b.run))
    return msg`Two models: tokens are compared by their text, and no divergence is computed.`;
  const { ab, ba, tokens, shareA, shareB } = divergence(a, b);
  const [count, first, second] = [integer(tokens), percent(shareA), percent(shareB)];
  if (ab === null)
    return msg`KL divergence: not computed. The ${count} tokens that both logs list hold ${first} of A and ${second} of B; it takes 90 %.`;
  const [there, back] = [bounded(ab, 3), bounded(ba, 3)];
  return msg`KL divergence, at least: ${there} nats from A to B, ${back} from B to A. The ${count} tokens that both logs list hold ${first} of A and ${second} of B; all others count as one.`;
}
