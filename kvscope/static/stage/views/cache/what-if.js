/** Three experiments that the engine runs: no causal mask, all values cached, a token at another position. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { OF_ORIGINAL } from "../../../shared/facts/changes.js";
import { timed } from "../../../shared/facts/conditions.js";
import { bytes, percent, quoted, withExponent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";
import { Table } from "../../../shared/ui/table.js";
import { msg, nodes } from "../../../shared/words/msg.js";
import { NEEDS_MODEL, Start } from "./twin-control.js";

export function WhatIf({ state, focus, ready, client }) {
  const { run, step, selection } = state;
  const { layer, head } = selection;
  if (run.open.study || run.steps.length === 0) return null;
  const newest = run.lastQueryOfStep(step);
  const position = Math.min(selection.query ?? focus.newest, newest);
  const other = position === 0 ? newest : 0;
  const refusal = run.open.changed ? OF_ORIGINAL : null;
  return html`<div data-names="what-if-mask"><h4>${msg`What if tokens could read later ones (no causal mask)?`} <${Badge} origin="measured" /></h4>
    <${Experiment}
      question=${msg`With the mask, a token reads no later token, so its values stay the same and can be cached. Without it, each new token would change every earlier row.`}
      name=${msg`Run it without the mask`} ready=${ready} refusal=${refusal} ask=${() => client.ask("mask")({ run: run.id, step })}
      show=${(answer) => html`<${Unmasked} answer=${answer} run=${run} newest=${newest} />`}
    /></div>
    <h4>${msg`What if all values of earlier tokens were cached?`} <${Badge} origin="measured" /></h4>
    <${Experiment}
      question=${msg`All values computed for earlier tokens stay the same. Why cache only K and V?`}
      name=${msg`Compare their sizes`} ready=${ready} ask=${() => client.ask("everything")({ run: run.id, step })}
      show=${(answer) => html`<${Everything} answer=${answer} />`}
    />
    ${
      other !== position &&
      html`<div data-names="what-if-position"><h4>${msg`The same token at another position`} <${Badge} origin="measured" /></h4>
        <${Experiment}
          key=${`${layer} ${head} ${position}`}
          question=${msg`The model runs ${quoted(run.tokens[position])} alone, at position ${position} and at ${other}. What changes in head ${head} of layer ${layer}?`}
          name=${msg`Run it at both positions`} ready=${ready} refusal=${refusal} ask=${() => client.ask("positions")({ run: run.id, layer, head, position, other })}
          show=${(answer) => html`<${OtherPosition} answer=${answer} rotary=${run.open.model.positions === "rotary"} positions=${[position, other]} />`}
        /></div>`
    }`;
}

/** A question, the button that sends it to the engine, and the answer; or in its place why the engine refuses it. */
function Experiment({ question, name, ready, refusal = null, ask, show }) {
  const [state, setState] = useState({ busy: false, answer: null, problem: null });
  const run = async () => {
    setState({ busy: true, answer: null, problem: null });
    try {
      setState({ busy: false, answer: await ask(), problem: null });
    } catch (problem) {
      setState({ busy: false, answer: null, problem });
    }
  };
  const { busy, answer, problem } = state;
  if (refusal) return html`<p class="sheet-say">${question}</p><p class="sheet-say muted">${refusal}</p>`;
  return html`<p class="sheet-say">${question}</p>
    ${
      answer
        ? show(answer)
        : html`<${Start}
            label=${busy ? msg`Running…` : name} busy=${busy} why=${ready ? null : NEEDS_MODEL} problem=${problem?.message} onStart=${run}
          />`
    }`;
}

function Unmasked({ answer, run, newest }) {
  const { with_mask: masked, without } = answer;
  const series = useMemo(
    () => [
      { name: msg`without the mask`, kind: "line", tone: "output", points: pointsOf(without.by_layer) },
      { name: msg`with the mask`, kind: "line", tone: "cached", points: pointsOf(masked.by_layer) },
    ],
    [answer],
  );
  const most = Math.max(...masked.by_layer);
  const rows = without.by_position.filter((change) => change > 0).length;
  const largest = without.by_position.indexOf(Math.max(...without.by_position));
  const [before, after] = [masked, without].map(mostLikely);
  return html`<p class="sheet-say" role="status">
      ${msg`The newest token is ${quoted(run.tokens[newest])}.`}${" "}
      ${
        most === 0
          ? msg`With the mask, it changed the earlier rows by exactly 0.`
          : msg`With the mask, it changed the earlier rows by at most ${withExponent(most)}.`
      }${" "}
      ${msg`Without the mask, ${rows} of ${without.by_position.length} rows changed, so a cache of them would be wrong.`}${" "}
      ${msg`The row of ${quoted(run.tokens[largest])} changed most, by ${percent(without.by_position[largest], 0)} of its length.`}${" "}
      ${msg`Only layer 0 stays the same, because its K and V come from the embeddings.`}${" "}
      ${msg`The most likely next token is ${before} with the mask and ${after} without it.`}
    </p>
    <${Chart}
      label=${msg`Largest change of an earlier row of K or V, by layer`} x=${{ name: msg`layer` }}
      y=${{ name: msg`change ÷ length`, format: (share) => percent(share, 0) }} series=${series} height=${180}
    />`;
}

function Everything({ answer }) {
  const { everything, kv, everything_ms: allMs, kv_ms: kvMs } = answer;
  const [all, cached] = [everything, kv].map((size) => html`<b>${bytes(size)}</b>`);
  return html`<p class="sheet-say" role="status">
    ${nodes`All values of the earlier tokens take ${all}. K and V take ${cached} of it, ${percent(kv / everything)}.`}${" "}
    ${msg`A new token reads only K and V of earlier tokens, so the other values would never be read.`}${" "}
    ${msg`Reading everything took ${timed(allMs, answer)} here; reading K and V took ${timed(kvMs, answer)}.`}
  </p>`;
}

function pointsOf(shares) {
  return shares.map((y, x) => ({ x, y }));
}

function mostLikely({ likeliest: token }) {
  return `${quoted(token)} (${percent(token.prob, 0)})`;
}

/** By hook point. A model without RoPE has one q and one k. */
const ROTARY_NAMES = {
  "attn.q": msg`q, before RoPE`,
  "attn.q_rot": msg`q, after RoPE`,
  "attn.k": msg`k, before RoPE`,
  "attn.k_rot": msg`k, after RoPE`,
  "attn.v": "v",
};
const PLAIN_NAMES = { "attn.q_rot": "q", "attn.k_rot": "k", "attn.v": "v" };
const DIAL = 84;

function OtherPosition({ answer, rotary, positions }) {
  const names = Object.entries(rotary ? ROTARY_NAMES : PLAIN_NAMES);
  return html`<p class="sheet-say" role="status">
      ${
        rotary
          ? msg`RoPE rotates q and k, not v: the position changes the attention weights, not the values that are mixed.`
          : msg`This model adds positions to the row itself, so q, k and v all change.`
      }
    </p>
    <div class="rotated-pairs row">
      <${Table} name=${msg`What the position changes`}
        columns=${[{}, { head: msg`difference ÷ length` }]}
        rows=${names.map(([name, label]) => ({
          head: label,
          cells: [answer.changes[name] === 0 ? "0" : percent(answer.changes[name])],
        }))}
      />
      ${answer.pairs.map((pair, at) => html`<${Pair} key=${at} pair=${pair} at=${at} positions=${positions} />`)}
    </div>`;
}

/** A pair of q’s numbers as an arrow: before RoPE, and rotated for each of both positions. */
function Pair({ pair: [before, first, second], at, positions: [position, other] }) {
  const length = Math.hypot(...before) || 1;
  const tip = ([x, y]) => [(x / length) * (DIAL / 2 - 6), (-y / length) * (DIAL / 2 - 6)];
  const arrow = (vector, tone) => {
    const [x, y] = tip(vector);
    return html`<g class=${tone}><line x2=${x.toFixed(1)} y2=${y.toFixed(1)} /><circle cx=${x.toFixed(1)} cy=${y.toFixed(1)} r="3" /></g>`;
  };
  const degrees = (vector) => {
    const turn = ((Math.atan2(vector[1], vector[0]) - Math.atan2(before[1], before[0])) * 180) / Math.PI;
    return Math.round((turn + 720) % 360);
  };
  const label = msg`Pair ${at}: rotated by ${degrees(first)}° at position ${position}, by ${degrees(second)}° at position ${other}`;
  return html`<figure class="rotated-pair centred muted small">
    <svg viewBox=${`${-DIAL / 2} ${-DIAL / 2} ${DIAL} ${DIAL}`} width=${DIAL} height=${DIAL} role="img" aria-label=${label}>
      <circle r=${DIAL / 2 - 6} />
      ${arrow(before, "is-before")}${arrow(first, "is-first")}${arrow(second, "is-second")}
    </svg>
    <figcaption>${msg`pair ${at}`}<br />${position}: ${degrees(first)}°, ${other}: ${degrees(second)}°</figcaption>
  </figure>`;
}
