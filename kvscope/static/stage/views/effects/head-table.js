/** The heads with the largest effects, in all or directly, with what each of them looks at. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { fixed, percent, quoted } from "../../../shared/facts/format.js";
import { Table } from "../../../shared/ui/table.js";
import { Token } from "../../../shared/ui/token.js";
import { msg } from "../../../shared/words/msg.js";
import { byStrength, LARGE, SMALL, standing, strongest } from "./facts.js";
import { amount, becomes, signed } from "./words.js";

const LISTED = 8;
const STANDINGS = { "total-only": msg`larger total`, "direct-only": msg`larger direct` };

export function HeadTable({ run, token, looks, measurement, totals, directs, patterns, measure, onSelect }) {
  const { heads } = run;
  const { logit_cap: logitCap, post_norms: postNorms } = run.open.model;
  const cap = logitCap
    ? `${msg`This model then caps its logits, so that a share of a large logit moves it by less.`} `
    : "";
  const { effects, base } = measurement;
  const [wanted, setWanted] = useState("total");
  const by = directs ? wanted : "total";
  const order = byStrength(by === "direct" ? directs : totals);
  const most = { totals: strongest(totals), directs: strongest(directs ?? []) };
  const name = msg`Heads with the largest effect`;
  const caption = html`<span class="line on-line small">${name}${
    directs &&
    html` <label class="line muted">${msg`by`}
      <select value=${by} onChange=${(event) => setWanted(event.target.value)}><option value="total">${msg`total effect`}</option><option value="direct">${msg`direct effect`}</option></select>
    </label>`
  }</span>`;
  const row = (at) => ({
    key: at,
    head: html`<button type="button" class="button small" onClick=${() => onSelect(at)}>L${Math.floor(at / heads)} h${at % heads}</button>`,
    cells: [
      looks[at].key !== null && html`<${Token} token=${run.tokens[looks[at].key]} /> ${percent(looks[at].share, 0)}`,
      becomes(base, effects[at]),
      amount(measure, totals[at]),
      ...(directs ? [signed(directs[at]), STANDINGS[standing(measure, totals[at], directs[at], most)] ?? ""] : []),
      ...(patterns ? [fixed(patterns.previous[at], 2), fixed(patterns.induction[at], 2)] : []),
      html`<${Token} token=${effects[at].best} /> ${percent(effects[at].best.prob, 0)}`,
    ],
  });
  return html`<${Table} name=${name} caption=${caption}
      columns=${[
        { head: msg`head` },
        { head: msg`looks at`, words: true, title: msg`its largest weight on any token but the first` },
        { head: quoted(token) },
        { head: measure === "kl" ? msg`KL` : msg`total` },
        directs && { head: msg`direct` },
        directs && { head: "", words: true },
        patterns && { head: msg`previous`, title: msg`previous-token score` },
        patterns && { head: msg`induction`, title: msg`induction score` },
        { head: msg`likeliest then`, words: true },
      ]}
      rows=${order.slice(0, LISTED).map(row)}
    />
    ${
      directs &&
      html`<p class="muted small effect-says">${msg`Direct: what the head writes into the last row, through ${postNorms ? msg`the norm after attention and the final norm, both with their scales held fixed at this run’s values` : msg`the final norm with its scale held fixed at this run’s value`}, as logit of the token less ${measure === "difference" ? msg`the foil’s` : msg`the mean of all logits`}. ${cap}Larger total: at least ${percent(LARGE, 0)} of the largest total, and at most ${percent(SMALL, 0)} of the largest direct effect; larger direct: the reverse; each is a share of its own kind. ${measure === "kl" ? `${msg`Of KL, the square root is compared, since KL grows about as the square of a small change.`} ` : ""}Direct effects are measured against zeros, whatever replaces the head.`}${
        patterns &&
        ` ${msg`Previous and induction: mean attention weight, on ${patterns.sequences} sequences of ${patterns.length} random tokens, each read twice, to the token before, and in the second reading to the token that followed the same one in the first.`}`
      }</p>`
    }`;
}
