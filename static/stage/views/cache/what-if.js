/** Two models that are not this one, really run: one without the causal mask, and a token that stands elsewhere. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { timed } from "../../../shared/facts/conditions.js";
import { bytes, counted, percent, quoted, withExponent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";

export function WhatIf({ state, focus, ready, client }) {
  const { run, step, selection } = state;
  const { layer, head } = selection;
  if (run.open.study || run.steps.length === 0) return null;
  const newest = run.lastQueryOfStep(step);
  const position = Math.min(selection.query ?? focus.newest, newest);
  const other = position === 0 ? newest : 0;
  return html`<h4>What if nothing were masked? <${Badge} origin="measured" /></h4>
    <${Asked}
      say="With the mask a token never looks at a later one: what was computed for it stays, and can be kept. Without it every row before would change with each new token."
      name="Run it without the mask" ready=${ready} ask=${() => client.ask("mask")({ run: run.id, step })}
      show=${(told) => html`<${Unmasked} told=${told} run=${run} newest=${newest} />`}
    />
    <h4>What if everything blue were kept? <${Badge} origin="measured" /></h4>
    <${Asked}
      say="All that was computed for the tokens before stays as it is. Why keep K and V of it and nothing else?"
      name="Weigh it" ready=${ready} ask=${() => client.ask("everything")({ run: run.id, step })}
      show=${(told) => html`<${Everything} told=${told} before=${newest} />`}
    />
    ${
      other !== position &&
      html`<h4>The same token elsewhere <${Badge} origin="measured" /></h4>
        <${Asked}
          key=${`${layer} ${head} ${position}`}
          say=${`${quoted(run.tokens[position])} alone in the model, at position ${position} and at position ${other}: what does its place change in head ${head} of layer ${layer}?`}
          name="Run it at both" ready=${ready} ask=${() => client.ask("positions")({ run: run.id, layer, head, position, other })}
          show=${(told) => html`<${Elsewhere} told=${told} rotary=${run.open.model.positions === "rotary"} positions=${[position, other]} />`}
        />`
    }`;
}

/** A question, the button that has it answered, and the answer. */
function Asked({ say, name, ready, ask, show }) {
  const [answer, setAnswer] = useState({ busy: false, told: null, problem: null });
  const run = async () => {
    setAnswer({ busy: true, told: null, problem: null });
    try {
      setAnswer({ busy: false, told: await ask(), problem: null });
    } catch (problem) {
      setAnswer({ busy: false, told: null, problem });
    }
  };
  const { busy, told, problem } = answer;
  return html`<p class="sheet-say">${say}</p>
    ${
      told
        ? show(told)
        : html`<p class="twin-control row small">
            <button type="button" class="button is-main small" disabled=${busy || !ready} onClick=${run}>${busy ? "Running…" : name}</button>
            ${!ready && html`<span>Possible when the model is loaded.</span>`}
            ${problem && html`<span class="word-bad" role="alert">${problem.message}</span>`}
          </p>`
    }`;
}

function Unmasked({ told, run, newest }) {
  const { with_mask: masked, without } = told;
  const series = useMemo(
    () => [
      { name: "without the mask", kind: "line", tone: "output", points: pointsOf(without.by_layer) },
      { name: "with it", kind: "line", tone: "cached", points: pointsOf(masked.by_layer) },
    ],
    [told],
  );
  const most = Math.max(...masked.by_layer);
  const rows = without.by_position.filter((change) => change > 0).length;
  const largest = without.by_position.indexOf(Math.max(...without.by_position));
  return html`<p class="sheet-say" role="status">
      ${quoted(run.tokens[newest])} was appended. <b>With the mask</b> the rows before it changed by ${most === 0 ? "exactly 0" : `at most ${withExponent(most)}`}.
      ${" "}<b>Without it</b> ${rows} of ${counted(without.by_position.length, "row")} changed, ${quoted(run.tokens[largest])} most, by
      ${" "}${percent(without.by_position[largest], 0)} of its length: a cache of them would be wrong. Layer 0 alone stays, as its K and V are made of the
      embeddings. The likeliest next token was ${likeliest(masked)} and became ${likeliest(without)}.
    </p>
    <${Chart}
      label="Largest change of a row of K or V before the newest token, by layer" x=${{ name: "layer" }}
      y=${{ name: "change ÷ length", format: (share) => percent(share, 0) }} series=${series} height=${180}
    />`;
}

function Everything({ told, before }) {
  const { everything, kv, everything_ms: allMs, kv_ms: kvMs } = told;
  return html`<p class="sheet-say" role="status">
    For the ${counted(before, "token")} before, every operation of every layer left <b>${bytes(everything)}</b>; K and V are <b>${bytes(kv)}</b> of it,
    ${" "}${percent(kv / everything)}. Nothing else of an old token is ever read by a new one, so the rest would buy nothing: merely reading it took
    ${" "}${timed(allMs, told)} here, K and V ${timed(kvMs, told)}.
  </p>`;
}

function pointsOf(shares) {
  return shares.map((y, x) => ({ x, y }));
}

function likeliest({ likeliest: token }) {
  return `${quoted(token)} (${percent(token.prob, 0)})`;
}

/** Where nothing is turned, q asks and k is kept as it was made. */
const BEFORE_ROPE = ["attn.q", "attn.k"];
const NAMES = {
  "attn.q": "q, before RoPE",
  "attn.q_rot": "q, as it asks",
  "attn.k": "k, before RoPE",
  "attn.k_rot": "k, as it is kept",
  "attn.v": "v",
};
const DIAL = 84;

function Elsewhere({ told, rotary, positions }) {
  const names = Object.entries(NAMES).filter(([name]) => rotary || !BEFORE_ROPE.includes(name));
  return html`<p class="sheet-say" role="status">
      ${rotary ? "q and k turn, v does not: a place decides who is looked at, not what is taken from them." : "This model adds positions to the row itself, so all three change."}
    </p>
    <div class="elsewhere row">
      <table class="numbers" aria-label="What the place changes">
        <thead><tr><td></td><th scope="col">difference ÷ length</th></tr></thead>
        <tbody>
          ${names.map(
            ([name, words]) => html`<tr key=${name}>
              <th scope="row">${words}</th><td>${told.changes[name] === 0 ? "0" : percent(told.changes[name])}</td>
            </tr>`,
          )}
        </tbody>
      </table>
      ${told.pairs.map((pair, at) => html`<${Pair} key=${at} pair=${pair} at=${at} positions=${positions} />`)}
    </div>`;
}

/** A pair of q’s numbers as an arrow: before RoPE, and turned for either place. */
function Pair({ pair: [before, first, second], at, positions }) {
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
  const words = `pair ${at}: turned by ${degrees(first)}° at position ${positions[0]}, by ${degrees(second)}° at position ${positions[1]}`;
  return html`<figure class="elsewhere-pair centred muted small">
    <svg viewBox=${`${-DIAL / 2} ${-DIAL / 2} ${DIAL} ${DIAL}`} width=${DIAL} height=${DIAL} role="img" aria-label=${words}>
      <circle r=${DIAL / 2 - 6} />
      ${arrow(before, "is-before")}${arrow(first, "is-first")}${arrow(second, "is-second")}
    </svg>
    <figcaption>pair ${at}<br />${positions[0]}: ${degrees(first)}°, ${positions[1]}: ${degrees(second)}°</figcaption>
  </figure>`;
}
