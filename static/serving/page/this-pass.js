/** The pass in sight: which rows went in together, the weights that were read once, the tokens that came out. */

import { html } from "htm/preact";
import { originOfTimes } from "../../shared/facts/conditions.js";
import { bytesShort, counted, integer } from "../../shared/facts/format.js";
import { formatOf, totalOf } from "../../shared/facts/weights.js";
import { Badge } from "../../shared/ui/badge.js";
import { Token } from "../../shared/ui/token.js";
import { chosenOf, rowsOf, tokensOut } from "../measures.js";
import { ownerClass } from "../owners.js";
import { Owner } from "./owner.js";

/** Rows that are drawn one by one; of more, so many stand for all, and the number says how many. */
const MOST_BARS = 12;

/** @param {Object} props as `Watched` gives them to all its parts */
export function ThisPass({ log, pass }) {
  const { requests } = log.study;
  const { layers } = log.open.model;
  const { members, others } = pass;
  const rows = rowsOf(pass) + others.rows;
  const words = tokensOut(pass);
  return html`<section class="this-pass stack" aria-label="This pass">
    <h2>This pass: ${counted(rows, "row")}, the weights read once</h2>
    <p class="muted">A row is one token on its way through the model. All rows of a pass go through it together.</p>
    <div class="pass-way" style=${`--lines:${members.length + Number(others.rows > 0)}`}>
      <ul class="pass-rows" aria-label="Rows in">
        ${members.map((member) => html`<${RowsIn} key=${member.request} ...${member} />`)}
        ${others.rows > 0 && html`<li class="is-others"><b class="owner small still">+</b><${RowBars} rows=${others.rows} /><span>${counted(others.rows, "row")} of other people’s</span></li>`}
      </ul>
      <p class="pass-weights word-weights centred"><b>${counted(layers, "layer")}</b><${WeightsRead} pass=${pass} /></p>
      <ul class="pass-words" aria-label="Tokens out">
        ${members.map((member) => html`<${WordsOut} key=${member.request} member=${member} tokens=${requests[member.request].tokens} />`)}
        ${others.rows > 0 && html`<li class="muted">not shown</li>`}
      </ul>
    </div>
    <p class="pass-sum"><b class="is-output">${counted(words, "token")} out</b> for one reading of the weights, in <b class="number">${integer(pass.ms)} ms</b>. <${Badge} origin=${originOfTimes([pass])} /></p>
  </section>`;
}

/** As read by this pass; older logs say the bytes alone, or nothing. */
function WeightsRead({ pass: { weights_read: read, weight_bytes: bytes } }) {
  const all = read ? totalOf(read) : bytes;
  if (all === undefined) return html`<span>the weights, once</span>`;
  return html`<span class="number">${bytesShort(all)}</span><span>of weights read${read && html`, in ${formatOf(read)}`}</span>`;
}

function RowsIn({ request, phase, rows, guessed = 0 }) {
  const guesses = guessed ? ` and ${counted(guessed, "guess", "guesses")}` : "";
  return html`<li class=${ownerClass(request)}>
    <${Owner} request=${request} /><${RowBars} rows=${rows} />
    <span>${phase === "decode" ? `its newest token${guesses}` : `${integer(rows)} of its prompt`}</span>
  </li>`;
}

function WordsOut({ member, tokens }) {
  const { request, first, rows, guessed = 0, more = [] } = member;
  const chosen = chosenOf(member);
  const right = more.length;
  const classOf = (at) => (at < right ? "chip is-output cut is-guessed" : "chip is-output cut");
  return html`<li class=${ownerClass(request)}>
    ${chosen.map((token, at) => html`<${Token} key=${at} token=${token} limit=${16} class=${classOf(at)} />`)}
    ${guessed > 0 && html`<small class="muted small">${guessesSay(guessed, right)}</small>`}
    ${chosen.length === 0 && html`<span class="muted">no token yet: ${integer(first + rows)} of ${integer(tokens)} in the cache</span>`}
  </li>`;
}

/** The last token of a pass is always the model's own: it follows the last right guess. */
function guessesSay(guessed, right) {
  const wrong = guessed - right;
  if (!right) return `${counted(wrong, "guess", "guesses")} wrong, dropped`;
  const lost = wrong ? `, ${integer(wrong)} wrong, dropped` : "";
  return `underlined: ${counted(right, "right guess", "right guesses")}${lost}`;
}

function RowBars({ rows }) {
  return html`<span class="row-bars stack tight still" aria-hidden="true">${Array.from({ length: Math.min(rows, MOST_BARS) }, (_, at) => html`<i key=${at}></i>`)}</span>`;
}
