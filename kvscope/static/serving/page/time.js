/** Time: a lane per request over measured milliseconds; each pass is a band across all lanes; its width is its duration. */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { originOfTimes } from "../../shared/facts/conditions.js";
import { fixed, integer, percent } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Memo } from "../../shared/ui/memo.js";
import { pointInside, useSize } from "../../shared/ui/use-size.js";
import { passCount, tokenCount } from "../../shared/words/counts.js";
import { form, msg, nodes, plural, pluralNodes } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import { barOf, lanesOf, nowOf, passAt, rowsLabel, steadyLanes, timeScale } from "../lanes.js";
import { busyOf, doneMs, endOf, rowsReadIn } from "../measures.js";
import { letterOf, lettersOf, ownerClass } from "../owners.js";
import { roundName } from "../results.js";
import { stateOf, statusText } from "../sentences.js";
import { wholeMs } from "../whole-ms.js";
import { Answers } from "./answers.js";
import { Lane } from "./lane.js";
import { Owner } from "./owner.js";

/** Height of the bars over the lanes, which show the rows per pass. */
const BARS_PX = 42;
const TOP_PX = BARS_PX + 24;
const AXIS_PX = 24;
const LANE_PX = 38;
/** Below this width the name of a lane is above it, not beside it. */
const NARROW_PX = 560;
const NARROW_LANE_PX = 58;
const NAMES_PX = 182;
const TICK_PX = 104;
const CHARACTER_PX = 7.3;

/** States of a request that can be cancelled. */
const CANCELLABLE = ["waiting", "running", "preempted"];

/** @param {Object} props as `Watched` gives them to all its parts; `go` shows a pass */
export function Time({ log, round, pass, tally, version, look, go, acts }) {
  const [ref, size] = useSize();
  const { answers, stall } = tally;
  // The log has a new request before the tally counts it.
  const requests = log.study.requests.slice(0, answers.length);
  const before = useRef([]);
  const lanes = useMemo(() => steadyLanes(before.current, lanesOf(round, answers)), [round, version]);
  before.current = lanes;
  const others = log.rounds.filter((other) => other !== round && other.end && doneMs(other));
  const known = Math.max(...log.rounds.map(nowOf));
  const width = size?.width ?? 0;
  const narrow = width < NARROW_PX;
  const high = narrow ? NARROW_LANE_PX : LANE_PX;
  const left = narrow ? 0 : NAMES_PX;
  const height = TOP_PX + high * requests.length + AXIS_PX;
  const frame = useMemo(
    () => ({ left, high, height, narrow, right: width - 8, x: timeScale(known, [left, width - 8]) }),
    [left, high, height, timeScale(known, [0, 1]).domain()[1], narrow, width],
  );
  const point = (event) => {
    const lane = Math.floor((pointInside(event).y - TOP_PX) / high);
    look.hover(lane >= 0 && lane < requests.length ? lane : null);
  };
  const pick = (event) => {
    const ms = frame.x.invert(pointInside(event).x);
    const number = ms >= 0 ? passAt(round.passes, ms) : null;
    if (number !== null) go(number);
  };
  return html`<section class="time stack" aria-label=${msg`Time`} data-names="time">
    <h2>${nodes`Time: each band is one ${html`<${Term} id="forward">${msg`forward pass`}<//>`}, as wide as its duration`}</h2>
    <div class="lanes anchor" ref=${ref} style=${`height:${height}px`} onClick=${pick} onPointerMove=${point} onPointerLeave=${() => look.hover(null)}>
      ${
        width > 0 &&
        html`<svg width=${width} height=${height} role="img" aria-label=${inWords(round, requests)}>
          <${Memo} of=${Bands} round=${round} count=${round.passes.length} frame=${frame} />
          <${Memo} of=${Bars} round=${round} count=${round.passes.length} most=${Math.max(1, tally.mostRows)} frame=${frame} />
          <${RowsShown} pass=${pass} frame=${frame} />
          ${lanes.map((lane) => html`<${Memo} of=${Lane} key=${lane.request} lane=${lane} y=${TOP_PX + high * lane.request} frame=${frame} selected=${look.selected === lane.request} />`)}
          ${stall && html`<${Stall} stall=${stall} frame=${frame} />`}
          <${Shown} round=${round} pass=${pass} frame=${frame} />
          <${OtherRounds} others=${others} frame=${frame} />
          <${Axis} frame=${frame} />
        </svg>
        <${Names} requests=${requests} answers=${answers} newest=${round.passes.at(-1)} begunWith=${log.begunWith} pass=${pass} frame=${frame} look=${look} acts=${acts} />`
      }
    </div>
    <${Legend} others=${others} names=${others.map(({ number }) => roundName(log.study, number))} />
    <${StallText} stall=${stall} answers=${answers} passes=${round.passes} />
    <${BusyText} busy=${busyOf(tally.byMembers)} />
    <${Answers} round=${round} pass=${pass} requests=${requests} tally=${tally} version=${version} look=${look} />
  </section>`;
}

function inWords(round, requests) {
  const passes = passCount(round.passes.length);
  const time = wholeMs(nowOf(round));
  return plural(
    requests.length,
    form`${requests.length} lane, ${passes} so far, ${time}`,
    form`${requests.length} lanes, ${passes} so far, ${time}`,
  );
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

/** Bars of the rows per pass, as high as the square root of the rows: one row stays visible beside hundreds. */
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
  const prompt = html`<tspan class="is-computed">${msg`prompts`}</tspan>`;
  const one = html`<tspan class="is-output">${msg`1 per answer`}</tspan>`;
  const guesses = html`<tspan class="is-guessed">${msg`guesses`}</tspan>`;
  return html`<g class="rows">
    ${left > 0 && html`<text class="rows-name" x="0" y=${TOP_PX - 24}>${msg`rows (tokens) per pass`}</text><text class="rows-key" x="0" y=${TOP_PX - 8}>${prompt} + ${one}${paths.guessed && html` + ${guesses}`}</text>`}
    ${Object.entries(paths).map(([part, d]) => d && html`<path key=${part} class=${`rows-bar is-${part}`} d=${d} />`)}
  </g>`;
}

/** The rows of the shown pass, in numbers. */
function RowsShown({ pass, frame: { x, left, right } }) {
  const shown = (x(pass.start_ms) + x(endOf(pass))) / 2;
  const label = rowsLabel(pass);
  const half = (label.length * CHARACTER_PX) / 2;
  const at = Math.min(right - half, Math.max(left + half, shown));
  return html`<text class="rows-shown" x=${at} y="12" text-anchor="middle">${label}</text>`;
}

/** Outlines the shown pass, and fades what came after it. */
function Shown({ round, pass, frame: { x, height, right } }) {
  const [from, to] = [x(pass.start_ms), x(endOf(pass))];
  const last = round.passes.at(-1);
  return html`
    ${last !== pass && html`<rect class="later" x=${to} y=${TOP_PX - BARS_PX - 4} width=${Math.max(0, right + 8 - to)} height=${height - AXIS_PX - TOP_PX + BARS_PX + 4} />`}
    <rect class="shown-band" x=${from - 1} y=${TOP_PX - 1} width=${Math.max(4, to - from + 2)} height=${height - AXIS_PX - TOP_PX + 2} rx="3" />`;
}

/** Marks when all requests were done in each other round of the log. */
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

function StallText({ stall, answers, passes }) {
  if (!stall) return null;
  const during = passes.filter((pass) => pass.start_ms < stall.to && endOf(pass) > stall.from);
  const { ms, requests: who } = stall;
  const read = answers
    .map((answer) => ({ request: answer.request, rows: rowsReadIn(answer, stall) }))
    .filter(({ request, rows }) => rows > 0 && !who.includes(request));
  const count = read.reduce((sum, each) => sum + each.rows, 0);
  const tokens = html`<b>${tokenCount(count)}</b>`;
  const readers = lettersOf(read.map(({ request }) => request));
  const waiting = lettersOf(who);
  const waited = html`<b class="is-bad number">${wholeMs(ms)}</b>`;
  return html`<p class="stall-text"><svg width="22" height="8" aria-hidden="true"><path class="stall" d="M1,7V2H21V7" /></svg>
    ${pluralNodes(
      read.length,
      form`Longest wait while another prompt is read: ${waiting} waited ${waited} for one token while the engine read ${tokens} of ${readers}’s prompt.`,
      form`Longest wait while other prompts are read: ${waiting} waited ${waited} for one token while the engine read ${tokens} of the prompts of ${readers}.`,
    )} <${Badge} origin=${originOfTimes(during)} /></p>`;
}

/** A measure that misleads: the engine looks equally busy whether its passes serve one request or many. */
function BusyText({ busy }) {
  if (!busy) return null;
  const [few, many] = busy;
  const sentence = ({ requests, busy, perSecond }) => {
    const share = html`<b class="number">${percent(busy, 0)}</b>`;
    const rate = html`<b class="number">${fixed(perSecond, 0)}</b>`;
    return pluralNodes(
      requests,
      form`With ${requests} request per pass, the engine was busy ${share} of the time and produced ${rate} tokens per second.`,
      form`With ${requests} requests per pass, the engine was busy ${share} of the time and produced ${rate} tokens per second.`,
    );
  };
  return html`<p class="busy-text">${sentence(few)} ${sentence(many)} ${msg`So busy time does not show whether the engine can serve more. Tokens per second and the queue show it.`}</p>`;
}

function Axis({ frame: { x, height, left, right } }) {
  const ticks = x.ticks(Math.max(2, Math.floor((right - left) / TICK_PX)));
  const y = height - AXIS_PX;
  return html`<g class="axis">
    <line x1=${left} x2=${right} y1=${y} y2=${y} />
    ${ticks.map((ms, at) => html`<text key=${ms} x=${x(ms)} y=${y + 17} text-anchor=${at === 0 ? "start" : x(ms) > right - 24 ? "end" : "middle"}>${integer(ms)}${at === ticks.length - 1 ? " ms" : ""}</text>`)}
  </g>`;
}

function Names({ requests, answers, newest, begunWith, pass, frame: { high, narrow }, look, acts }) {
  return html`<ol aria-label=${msg`Requests`} class=${narrow ? "lane-names is-narrow" : "lane-names"} style=${`top:${TOP_PX}px`}>
    ${requests.map((sent, request) => html`<${Memo} key=${request} of=${Name} sent=${sent} request=${request} high=${high} picked=${look.picked === request} shared=${answers[request].shared} status=${statusText(stateOf(pass, request), answers[request], pass)} hover=${look.hover} pick=${look.pick} joined=${request >= begunWith} now=${acts && stateOf(newest, request).state} acts=${acts} />`)}
  </ol>`;
}

function Name({
  sent: { prompt, tokens, retry_of, messages },
  request,
  high,
  picked,
  shared,
  status,
  hover,
  pick,
  joined,
  now,
  acts,
}) {
  const letter = letterOf(request);
  const cancel = msg`Cancel ${letter}`;
  const retry = msg`Send ${letter} again`;
  const retried = typeof retry_of === "number" ? letterOf(retry_of) : null;
  const cancellable = CANCELLABLE.includes(now);
  return html`<li class=${cancellable || (now === "cancelled" && !messages) ? "has-act" : ""} style=${`height:${high}px`}>
    <button type="button" class=${`lane-name fill anchor ${ownerClass(request)}`} aria-pressed=${picked} title=${prompt}
      onFocus=${() => hover(request)} onBlur=${() => hover(null)}
      onClick=${(event) => {
        event.stopPropagation();
        pick(request);
      }}>
      <${Owner} request=${request} />
      <span class="lane-prompt cut">${joined && html`<i class="badge">${msg`live`}</i> `}${prompt}</span>
      <small>${retried && html`${msg`retry of ${retried}`}, `}${tokenCount(tokens)}${shared > 0 && html`, <b class="is-cached">${msg`${integer(shared)} shared`}</b>`}<span class="visually-hidden">, ${status}</span></small>
    </button>
    ${cancellable && html`<button type="button" class="lane-act muted" aria-label=${cancel} title=${msg`Cancel ${letter} and release its blocks`} onClick=${() => acts.cancel(request)}>×</button>`}
    ${now === "cancelled" && !messages && html`<button type="button" class="lane-act muted" aria-label=${retry} title=${msg`Send the prompt of ${letter} again now`} onClick=${() => acts.retry(request)}>↻</button>`}
  </li>`;
}

function Legend({ others, names }) {
  return html`<ul class="row">
    <li class="key line muted small is-waiting">${msg`waiting`}</li>
    <li class="key line muted small is-reading">${msg`reading the prompt (number of tokens)`}</li>
    <li class="key line muted small is-new-token">${msg`new token`}</li>
    <li class="key line muted small is-done">${msg`done`}</li>
    <li class="key line muted small is-cancelled">${msg`cancelled`}</li>
    <li class="key line muted small is-preempted">${msg`preempted (paused, its blocks given back)`}</li>
    ${others.map((round, at) => {
      const name = names[at];
      const time = wholeMs(doneMs(round));
      return html`<li key=${round.number} class="key line muted small is-other">${msg`${name}: all done at ${time}`}</li>`;
    })}
  </ul>`;
}
