/** Time: a lane per request over real milliseconds; each pass is a band across all of them, as wide as it took. */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { originOfTimes } from "../../shared/facts/conditions.js";
import { counted, fixed, integer, percent } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Memo } from "../../shared/ui/memo.js";
import { pointInside, useSize } from "../../shared/ui/use-size.js";
import { Term } from "../../shared/words/term.js";
import { roundName } from "../experiments.js";
import { axisEnd, axisTicks, barOf, lanesOf, nowOf, passAt, rowsWords, steadyLanes } from "../lanes.js";
import { busyOf, doneMs, endOf, rowsReadIn } from "../measures.js";
import { letterOf, lettersOf, ownerClass } from "../owners.js";
import { standing, stateOf } from "../sentences.js";
import { Answers } from "./answers.js";
import { Lane } from "./lane.js";
import { Owner } from "./owner.js";

/** Rows per pass, over the lanes. */
const BARS_PX = 42;
const TOP_PX = BARS_PX + 24;
const AXIS_PX = 24;
const LANE_PX = 38;
/** Where a lane's name stands over it and not beside it. */
const NARROW_PX = 560;
const NARROW_LANE_PX = 58;
const NAMES_PX = 182;
const TICK_PX = 104;
const CHARACTER_PX = 7.3;

/** States of a request that can be cancelled. */
const THERE = ["waiting", "running", "preempted"];

/** @param {Object} props as `Watched` gives them to all its parts; `go` shows a pass */
export function Time({ log, round, pass, tally, version, look, go, acts }) {
  const [ref, size] = useSize();
  const { requests } = log.study;
  const { answers, stall } = tally;
  const before = useRef([]);
  const lanes = useMemo(() => steadyLanes(before.current, lanesOf(round, answers)), [round, version]);
  before.current = lanes;
  const others = log.rounds.filter((other) => other !== round && other.end && doneMs(other));
  const end = axisEnd(Math.max(...log.rounds.map(nowOf)));
  const width = size?.width ?? 0;
  const narrow = width < NARROW_PX;
  const high = narrow ? NARROW_LANE_PX : LANE_PX;
  const left = narrow ? 0 : NAMES_PX;
  const height = TOP_PX + high * requests.length + AXIS_PX;
  const frame = useMemo(
    () => ({ left, high, height, end, narrow, right: width - 8, x: (ms) => left + (ms / end) * (width - 8 - left) }),
    [left, high, height, end, narrow, width],
  );
  const point = (event) => {
    const lane = Math.floor((pointInside(event).y - TOP_PX) / high);
    look.hover(lane >= 0 && lane < requests.length ? lane : null);
  };
  const pick = (event) => {
    const ms = ((pointInside(event).x - left) / (frame.right - left)) * end;
    const number = ms >= 0 ? passAt(round.passes, ms) : null;
    if (number !== null) go(number);
  };
  return html`<section class="time stack" aria-label="Time">
    <h2>Time: each band is one <${Term} id="forward">pass of the model<//>, as wide as it took</h2>
    <div class="lanes anchor" ref=${ref} style=${`height:${height}px`} onClick=${pick} onPointerMove=${point} onPointerLeave=${() => look.hover(null)}>
      ${
        width > 0 &&
        html`<svg width=${width} height=${height} role="img" aria-label=${inWords(round, requests)}>
          <${Memo} of=${Bands} round=${round} count=${round.passes.length} frame=${frame} />
          <${Memo} of=${Bars} round=${round} count=${round.passes.length} most=${Math.max(1, tally.mostRows)} frame=${frame} />
          <${RowsShown} pass=${pass} frame=${frame} />
          ${lanes.map((lane) => html`<${Memo} of=${Lane} key=${lane.request} lane=${lane} y=${TOP_PX + high * lane.request} frame=${frame} looked=${look.looked === lane.request} />`)}
          ${stall && html`<${Stall} stall=${stall} frame=${frame} />`}
          <${Shown} round=${round} pass=${pass} frame=${frame} />
          <${OtherRounds} others=${others} frame=${frame} />
          <${Axis} frame=${frame} />
        </svg>
        <${Names} requests=${requests} answers=${answers} newest=${round.passes.at(-1)} begunWith=${log.begunWith} pass=${pass} frame=${frame} look=${look} acts=${acts} />`
      }
    </div>
    <${Legend} others=${others} names=${others.map(({ number }) => roundName(log.study.rounds, number))} />
    <${StallSays} stall=${stall} answers=${answers} passes=${round.passes} />
    <${BusySays} busy=${busyOf(tally.byMembers)} />
    <${Answers} round=${round} pass=${pass} requests=${requests} tally=${tally} version=${version} look=${look} />
  </section>`;
}

function inWords(round, requests) {
  return `${counted(requests.length, "lane")}, ${counted(round.passes.length, "pass", "passes")} so far, ${integer(nowOf(round))} ms`;
}

const box = (x1, x2, y1, y2) => `M${x1.toFixed(1)},${y1}H${x2.toFixed(1)}V${y2}H${x1.toFixed(1)}Z`;

/** Every second pass is shaded. */
function Bands({ round, frame: { x, height } }) {
  const bottom = height - AXIS_PX;
  const of = (wanted) =>
    round.passes
      .filter((each, at) => wanted(each, at))
      .map((each) => box(x(each.start_ms), x(endOf(each)), TOP_PX, bottom))
      .join("");
  return html`<path class="band" d=${of((_, at) => at % 2 === 0)} /><path class="band is-others" d=${of(({ members }) => !members.length)} />`;
}

/** By the square root of the rows: a row alone is to be seen beside hundreds. */
function Bars({ round, most, frame: { x, left } }) {
  const high = (rows) => BARS_PX * Math.sqrt(rows / most);
  const paths = { prefill: "", decode: "", guessed: "", others: "" };
  for (const each of round.passes) {
    const bar = barOf(each);
    const [from, to] = [x(each.start_ms), Math.max(x(each.start_ms) + 1, x(endOf(each)) - 0.5)];
    let base = TOP_PX - 2;
    let rows = 0;
    for (const part of Object.keys(paths)) {
      if (!bar[part]) continue;
      rows += bar[part];
      const top = TOP_PX - 2 - high(rows);
      paths[part] += box(from, to, top.toFixed(1), base.toFixed(1));
      base = top;
    }
  }
  return html`<g class="rows">
    ${left > 0 && html`<text class="rows-name" x="0" y=${TOP_PX - 24}>rows per pass</text><text class="rows-key" x="0" y=${TOP_PX - 8}><tspan class="is-computed">prompt</tspan> + <tspan class="is-output">1 a person</tspan>${paths.guessed && html` + <tspan class="is-guessed">guesses</tspan>`}</text>`}
    ${Object.entries(paths).map(([part, d]) => d && html`<path key=${part} class=${`rows-bar is-${part}`} d=${d} />`)}
  </g>`;
}

/** Of the pass in sight. */
function RowsShown({ pass, frame: { x, left, right } }) {
  const shown = (x(pass.start_ms) + x(endOf(pass))) / 2;
  const words = rowsWords(pass);
  const half = (words.length * CHARACTER_PX) / 2;
  const at = Math.min(right - half, Math.max(left + half, shown));
  return html`<text class="rows-shown" x=${at} y="12" text-anchor="middle">${words}</text>`;
}

/** The pass in sight outlined, what came after it faint. */
function Shown({ round, pass, frame: { x, height, right } }) {
  const [from, to] = [x(pass.start_ms), x(endOf(pass))];
  const last = round.passes.at(-1);
  return html`
    ${last !== pass && html`<rect class="later" x=${to} y=${TOP_PX - BARS_PX - 4} width=${Math.max(0, right + 8 - to)} height=${height - AXIS_PX - TOP_PX + BARS_PX + 4} />`}
    <rect class="shown-band" x=${from - 1} y=${TOP_PX - 1} width=${Math.max(4, to - from + 2)} height=${height - AXIS_PX - TOP_PX + 2} rx="3" />`;
}

/** When all were done in another round of the log. */
function OtherRounds({ others, frame: { x, height } }) {
  return others.map(
    (round) =>
      html`<line key=${round.number} class="other-round" x1=${x(doneMs(round))} x2=${x(doneMs(round))} y1=${TOP_PX} y2=${height - AXIS_PX} />`,
  );
}

/** A bracket over each lane that waited. */
function Stall({ stall, frame: { x, high, narrow } }) {
  const [from, to] = [x(stall.from), x(stall.to)];
  return stall.requests.map((request) => {
    const y = TOP_PX + high * request + (narrow ? 28 : 7);
    return html`<path key=${request} class="stall" d=${`M${from},${y + 4}V${y}H${to}V${y + 4}`} />`;
  });
}

function StallSays({ stall, answers, passes }) {
  if (!stall) return null;
  const during = passes.filter((pass) => pass.start_ms < stall.to && endOf(pass) > stall.from);
  const { ms, requests: who } = stall;
  const read = answers
    .map((answer) => ({ request: answer.request, rows: rowsReadIn(answer, stall) }))
    .filter(({ request, rows }) => rows > 0 && !who.includes(request));
  const rows = read.reduce((sum, each) => sum + each.rows, 0);
  const whose = lettersOf(read.map(({ request }) => request));
  return html`<p class="stall-says"><svg width="22" height="8" aria-hidden="true"><path class="stall" d="M1,7V2H21V7" /></svg>
    The longest wait beside somebody’s prompt: while <b>${counted(rows, "token")}</b> of ${read.length === 1 ? `${whose}’s prompt` : `the prompts of ${whose}`} ${rows === 1 ? "was" : "were"} read, ${lettersOf(who)} waited <b class="is-bad number">${integer(ms)} ms</b> for one token. <${Badge} origin=${originOfTimes(during)} /></p>`;
}

/** A signal that misleads: a pass runs all the time, whether it serves one or many. */
function BusySays({ busy }) {
  if (!busy) return null;
  const [few, many] = busy;
  const of = ({ people, busy, perSecond }) =>
    html`with ${counted(people, "person", "people")} in each, a pass ran <b class="number">${percent(busy, 0)}</b> of the time and <b class="number">${fixed(perSecond, 0)} tokens</b> came out a second`;
  return html`<p class="busy-says"><b>Busy says little:</b> ${of(few)}; ${of(many)}. Whether there is room for more, only tokens per second and the queue tell.</p>`;
}

function Axis({ frame: { x, end, height, left, right } }) {
  const ticks = axisTicks(end, Math.max(2, Math.floor((right - left) / TICK_PX)));
  const y = height - AXIS_PX;
  return html`<g class="axis">
    <line x1=${left} x2=${right} y1=${y} y2=${y} />
    ${ticks.map((ms, at) => html`<text key=${ms} x=${x(ms)} y=${y + 17} text-anchor=${at === 0 ? "start" : x(ms) > right - 24 ? "end" : "middle"}>${integer(ms)}${at === ticks.length - 1 ? " ms" : ""}</text>`)}
  </g>`;
}

function Names({ requests, answers, newest, begunWith, pass, frame: { high, narrow }, look, acts }) {
  return html`<ol aria-label="People" class=${narrow ? "lane-names is-narrow" : "lane-names"} style=${`top:${TOP_PX}px`}>
    ${requests.map((asked, request) => html`<${Memo} key=${request} of=${Name} asked=${asked} request=${request} high=${high} picked=${look.picked === request} shared=${answers[request].shared} stands=${standing(stateOf(pass, request), answers[request], pass)} hover=${look.hover} pick=${look.pick} joined=${request >= begunWith} now=${acts && stateOf(newest, request).state} acts=${acts} />`)}
  </ol>`;
}

function Name({
  asked: { prompt, tokens, retry_of },
  request,
  high,
  picked,
  shared,
  stands,
  hover,
  pick,
  joined,
  now,
  acts,
}) {
  return html`<li class=${THERE.includes(now) || now === "cancelled" ? "has-act" : ""} style=${`height:${high}px`}>
    <button type="button" class=${`lane-name fill anchor ${ownerClass(request)}`} aria-pressed=${picked} title=${prompt}
      onFocus=${() => hover(request)} onBlur=${() => hover(null)}
      onClick=${(event) => {
        event.stopPropagation();
        pick(request);
      }}>
      <${Owner} request=${request} />
      <span class="lane-prompt cut">${joined && html`<i class="badge">live</i> `}${prompt}</span>
      <small>${(retry_of ?? null) !== null && `${letterOf(retry_of)} again, `}${counted(tokens, "token")}${shared > 0 && html`, <b class="is-cached">${integer(shared)} shared</b>`}<span class="visually-hidden">, ${stands}</span></small>
    </button>
    ${THERE.includes(now) && html`<button type="button" class="lane-act muted" aria-label=${`Cancel ${letterOf(request)}`} title=${`Cancel ${letterOf(request)}: its blocks are given back at once`} onClick=${() => acts.cancel(request)}>×</button>`}
    ${now === "cancelled" && html`<button type="button" class="lane-act muted" aria-label=${`Ask ${letterOf(request)}’s again`} title=${`Ask ${letterOf(request)}’s again, now: its prompt is read once more`} onClick=${() => acts.askAgain(request)}>↻</button>`}
  </li>`;
}

function Legend({ others, names }) {
  return html`<ul class="row">
    <li class="key line muted small is-waiting">waiting</li>
    <li class="key line muted small is-reading">reading the prompt (rows)</li>
    <li class="key line muted small is-word">a token comes out</li>
    <li class="key line muted small is-done">done</li>
    <li class="key line muted small is-cancelled">gave up</li>
    <li class="key line muted small is-back">had to make room</li>
    ${others.map((round, at) => html`<li key=${round.number} class="key line muted small is-other">${names[at]}: all done at ${integer(doneMs(round))} ms</li>`)}
  </ul>`;
}
