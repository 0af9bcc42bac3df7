/** The pass in sight: its rows, the weights read once, the tokens it produced. */

import { html } from "htm/preact";
import { originOfTimes } from "../../shared/facts/conditions.js";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { formatOf, totalOf } from "../../shared/facts/weights.js";
import { Badge } from "../../shared/ui/badge.js";
import { Token } from "../../shared/ui/token.js";
import { rowCount, tokenCount } from "../../shared/words/counts.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { draftTook } from "../drafts.js";
import { chosenOf, rowsOf, tokensOut } from "../measures.js";
import { ownerClass } from "../owners.js";
import { wholeMs } from "../whole-ms.js";
import { Owner } from "./owner.js";

/** The most bars that are drawn; the number beside them is exact. */
const MOST_BARS = 12;

/** @param {Object} props as `Watched` gives them to all its parts */
export function ThisPass({ log, round, pass }) {
  const { requests } = log.study;
  const { layers } = log.open.model;
  const { members, others } = pass;
  const rows = rowsOf(pass) + others.rows;
  const foreign = integer(others.rows);
  const produced = html`<b class="is-output">${tokenCount(tokensOut(pass))}</b>`;
  const took = html`<b class="number">${wholeMs(pass.ms)}</b>`;
  return html`<section class="this-pass stack" aria-label=${msg`This pass`} data-names="this-pass">
    <h2>${msg`This pass: ${rowCount(rows)}, weights read once`}</h2>
    <p class="muted">${msg`A row holds the vectors of one token. The weights are the numbers learned in training.`}</p>
    <div class="pass-way" style=${`--lines:${members.length + Number(others.rows > 0)}`}>
      <ul class="pass-rows" aria-label=${msg`Rows in`}>
        ${members.map((member) => html`<${RowsIn} key=${member.request} ...${member} />`)}
        ${others.rows > 0 && html`<li class="is-others"><b class="owner small still">+</b><${RowBars} rows=${others.rows} /><span>${plural(others.rows, form`${foreign} row of other runs`, form`${foreign} rows of other runs`)}</span></li>`}
      </ul>
      <p class="pass-weights word-weights centred"><b>${plural(layers, form`${layers} layer`, form`${layers} layers`)}</b><${WeightsRead} pass=${pass} /></p>
      <ul class="pass-tokens" aria-label=${msg`Tokens out`}>
        ${members.map((member) => html`<${TokensOut} key=${member.request} member=${member} tokens=${requests[member.request].tokens} />`)}
        ${others.rows > 0 && html`<li class="muted">${msg`not shown`}</li>`}
      </ul>
    </div>
    <p class="pass-sum">${nodes`${produced} in ${took}, for one read of the weights.`} ${draftTook(pass.draft, round.settings.draft)} <${Badge} origin=${originOfTimes([pass])} /></p>
  </section>`;
}

function WeightsRead({ pass: { weights_read } }) {
  return html`<span class="number">${bytesShort(totalOf(weights_read))}</span><span>${msg`of weights read, in ${formatOf(weights_read)}`}</span>`;
}

function RowsIn({ request, phase, rows, guessed }) {
  const number = integer(rows);
  const text =
    phase !== "decode"
      ? plural(rows, form`${number} prompt token`, form`${number} prompt tokens`)
      : guessed
        ? plural(guessed, form`its newest token and ${guessed} guess`, form`its newest token and ${guessed} guesses`)
        : msg`its newest token`;
  return html`<li class=${ownerClass(request)}>
    <${Owner} request=${request} /><${RowBars} rows=${rows} />
    <span>${text}</span>
  </li>`;
}

function TokensOut({ member, tokens }) {
  const { request, first, rows, guessed, more } = member;
  const chosen = chosenOf(member);
  const right = more.length;
  // Not language: classes.
  const classOf = (at) => (at < right ? "chip is-output cut is-guessed" : "chip is-output cut");
  return html`<li class=${ownerClass(request)}>
    ${chosen.map((token, at) => html`<${Token} key=${at} token=${token} limit=${16} class=${classOf(at)} />`)}
    ${guessed > 0 && html`<small class="muted small">${guessesText(guessed, right)}</small>`}
    ${chosen.length === 0 && html`<span class="muted">${msg`no token yet: ${integer(first + rows)} of ${integer(tokens)} in the cache`}</span>`}
  </li>`;
}

/** The last token of a pass is never a guess: the model chose it after the last right guess. */
function guessesText(guessed, right) {
  const wrong = guessed - right;
  if (!right) return plural(wrong, form`${wrong} wrong guess, dropped`, form`${wrong} wrong guesses, dropped`);
  if (wrong) return msg`underlined: right guesses, ${right}; wrong and dropped, ${wrong}`;
  return plural(right, form`underlined: ${right} right guess`, form`underlined: ${right} right guesses`);
}

function RowBars({ rows }) {
  return html`<span class="row-bars stack tight still" aria-hidden="true">${Array.from({ length: Math.min(rows, MOST_BARS) }, (_, at) => html`<i key=${at}></i>`)}</span>`;
}
