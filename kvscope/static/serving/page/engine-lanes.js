/** Several engines over time: a lane for each, with its passes, and a line for each request that moves to another engine. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { integer, percent } from "../../shared/facts/format.js";
import { Memo } from "../../shared/ui/memo.js";
import { pointInside, useSize } from "../../shared/ui/use-size.js";
import { passCount, rowCount } from "../../shared/words/counts.js";
import { msg } from "../../shared/words/msg.js";
import { lanesOfEngines, movedRequests } from "../engines.js";
import { barOf, nowOf, timeScale } from "../lanes.js";
import { endOf } from "../measures.js";

const [LANE_PX, BAR_PX, TOP_PX, AXIS_PX] = [64, 44, 8, 24];
const TICK_PX = 130;

/** @param {Object} props as `Watched` gives them to all its parts; `go` shows a pass */
export function EngineLanes({ log, round, pass, version, go }) {
  const [ref, size] = useSize();
  const lanes = useMemo(() => lanesOfEngines(round), [round, version]);
  const width = size?.width ?? 0;
  const height = TOP_PX + LANE_PX * lanes.length + AXIS_PX;
  const known = Math.max(...log.rounds.map(nowOf));
  const x = useMemo(() => timeScale(known, [0, width - 8]), [timeScale(known, [0, 1]).domain()[1], width]);
  const pick = (event) => {
    const { x: left, y } = pointInside(event);
    const lane = lanes[Math.floor((y - TOP_PX) / LANE_PX)];
    const ms = x.invert(left);
    const near = lane?.passes.findLast((each) => each.start_ms <= ms);
    if (near) go(near.number);
  };
  const { prefill, stages } = round.settings.engines;
  const halves = stages > 1;
  return html`<section class="engine-lanes stack" aria-label=${msg`Engines over time`} data-names="time">
    <h2>${msg`Engines over time: each bar is a pass, as high as its rows`}</h2>
    <p class="muted">${msg`The passes are really computed, one after the other on this machine. Each engine has its own clock, which only its own passes move: so the times are those of separate machines like this one, as busy as it was, without a network and without the time between two passes. Their number: ${integer(lanes.length)}.`}</p>
    <div class="lanes anchor" ref=${ref} style=${`height:${height}px`} onClick=${pick}>
      ${
        width > 0 &&
        html`<svg width=${width} height=${height} role="img" aria-label=${inWords(lanes)}>
          ${lanes.map((lane) => html`<${Memo} of=${Bars} key=${lane.engine} lane=${lane} count=${lane.passes.length} y=${TOP_PX + LANE_PX * lane.engine} x=${x} width=${width} />`)}
          <${Memo} of=${Moves} round=${round} count=${round.passes.length} x=${x} />
          <${Shown} pass=${pass} x=${x} />
          <${Axis} x=${x} y=${height - AXIS_PX} width=${width} />
        </svg>`
      }
    </div>
    <ul class="row">
      <li class="key line muted small is-reading">${msg`rows of prompts`}</li>
      <li class="key line muted small is-new-token">${msg`one row per answer`}</li>
      ${prefill > 0 && html`<li class="key line muted small is-move">${msg`a request moves, with its blocks`}</li>`}
    </ul>
    <ul class="stack tight">${lanes.map(({ engine, passes, rows, busy }) => html`<li key=${engine}><b>${nameOf(engine)}</b>${doesOf(engine, prefill, halves && log.open.model.layers)}: ${passCount(passes.length)}, ${rowCount(rows)}, ${msg`busy ${percent(busy, 0)} of the time`}</li>`)}</ul>
  </section>`;
}

const nameOf = (engine) => msg`Engine ${integer(engine + 1)}`;

/** What only this engine does, in brackets. `layers`: of the model, if each engine has half of them. */
function doesOf(engine, prefill, layers) {
  if (layers) {
    const half = Math.floor(layers / 2);
    return engine ? ` (${msg`layers ${half} to ${layers - 1}, LM head`})` : ` (${msg`layers 0 to ${half - 1}`})`;
  }
  return prefill ? ` (${engine < prefill ? msg`reads prompts` : msg`decodes`})` : "";
}

function inWords(lanes) {
  return lanes.map(({ engine, passes }) => `${nameOf(engine)}: ${passCount(passes.length)}`).join(", ");
}

const box = (x1, x2, y1, y2) =>
  `M${x1.toFixed(1)},${y1.toFixed(1)}H${x2.toFixed(1)}V${y2.toFixed(1)}H${x1.toFixed(1)}Z`;

/** One path for each kind of row. The height is the square root of the rows: one row stays visible beside hundreds. */
function Bars({ lane: { engine, passes }, y, x, width }) {
  const most = passes.reduce((sum, pass) => Math.max(sum, ...Object.values(barOf(pass))), 1);
  const base = y + LANE_PX - 6;
  const paths = { prefill: "", decode: "" };
  for (const pass of passes) {
    const bar = barOf(pass);
    const [from, to] = [x(pass.start_ms), Math.max(x(pass.start_ms) + 1, x(endOf(pass)) - 0.5)];
    let bottom = base;
    for (const part of Object.keys(paths)) {
      if (!bar[part]) continue;
      const top = bottom - (BAR_PX / 2) * Math.sqrt(bar[part] / most);
      paths[part] += box(from, to, top, bottom);
      bottom = top;
    }
  }
  return html`<g><text class="rows-name" x="0" y=${y + 12}>${nameOf(engine)}</text>
    <line class="engine-line" x1="0" x2=${width} y1=${base} y2=${base} />
    ${Object.entries(paths).map(([part, d]) => d && html`<path key=${part} class=${`rows-bar is-${part}`} d=${d} />`)}</g>`;
}

/** From the pass that gave the first token to the first pass of the request on the other engine. */
function Moves({ round, x }) {
  const moved = movedRequests(round);
  const last = new Map();
  let lines = "";
  for (const pass of round.passes)
    for (const { request } of pass.members) {
      const before = last.get(request);
      if (moved.has(request) && before && before.engine !== pass.engine) {
        const at = ({ engine }) => (TOP_PX + LANE_PX * (engine + 1) - 6).toFixed(1);
        lines += `M${x(endOf(before)).toFixed(1)},${at(before)}L${x(pass.start_ms).toFixed(1)},${at(pass)}`;
      }
      last.set(request, pass);
    }
  return html`<path class="move-line" d=${lines} />`;
}

function Shown({ pass, x }) {
  const [from, to] = [x(pass.start_ms), x(endOf(pass))];
  const [first, lanes] = pass.stages ? [0, pass.stages.length] : [pass.engine, 1];
  return html`<rect class="shown-band" x=${from - 1} y=${TOP_PX + LANE_PX * first} width=${Math.max(4, to - from + 2)} height=${LANE_PX * lanes - 4} rx="3" />`;
}

function Axis({ x, y, width }) {
  const ticks = x.ticks(Math.max(2, Math.floor(width / TICK_PX)));
  return html`<g class="axis"><line x1="0" x2=${width} y1=${y} y2=${y} />
    ${ticks.map((ms, at) => html`<text key=${ms} x=${x(ms)} y=${y + 17} text-anchor=${at === 0 ? "start" : x(ms) > width - 32 ? "end" : "middle"}>${integer(ms)}${at === ticks.length - 1 ? " ms" : ""}</text>`)}
  </g>`;
}
