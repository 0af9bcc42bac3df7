/**
 * A small chart with axes: lines, stairs or bars, labelled where they end, with a readout for pointer and keys and a
 * table for screen readers.
 */

import { scaleLinear } from "d3-scale";
import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { msg } from "../words/msg.js";
import { barBoxes, domains, linePath, nearestX, spread, stepPath } from "./chart-geometry.js";
import { Table } from "./table.js";
import { pointInside, useSize } from "./use-size.js";

const TOP_PX = 10;
const BOTTOM_PX = 22;
const LABEL_PX = 16;
const CHARACTER_PX = 6.7;
const Y_TICKS = 4;
const X_TICK_PX = 56;
/** The largest share of the width for the names at the ends of the lines. */
const NAMES_SHARE = 0.36;

const PATHS = { line: linePath, stairs: stepPath };

/**
 * @param {Object} props
 * @param {string} props.label for screen readers, and the caption of the table
 * @param {{name: string, format?: (x: number) => string}} props.x whole numbers
 * @param {{name: string, format: (y: number) => string, exact?: (y: number) => string, cap?: number}} props.y `exact`: for the
 *   readout; `cap`: a bar above it is cut off there and labelled with its value
 * @param {{name: string, kind: "line"|"stairs"|"bar", tone: string, thin?: boolean, points: {x: number, y: number}[]}[]}
 *   props.series `tone`: one of the classes of chart.css; memoise the array
 * @param {number|null} [props.current] the x selected elsewhere on the page: marked, and shown in the readout by default
 * @param {number} [props.height] in CSS pixels
 * @param {(x: number) => void} [props.onPick] selects an x on the page
 */
export function Chart({ label, x: xAxis, y: yAxis, series, current = null, onPick = null, height = 200 }) {
  const [ref, size] = useSize();
  const [pointed, setPointed] = useState(null);
  const width = size?.width ?? 0;
  const frame = useMemo(
    () => (width ? layOut(series, yAxis, width, height) : null),
    [series, yAxis.cap, width, height],
  );
  const xs = useMemo(() => {
    const all = new Set(series.flatMap(({ points }) => points.map(({ x }) => x)));
    return [...all].sort((a, b) => a - b);
  }, [series]);
  const shown = xs.includes(pointed) ? pointed : xs.includes(current) ? current : xs[xs.length - 1];
  const format = xAxis.format ?? String;

  const onPointerMove = (event) => frame && setPointed(nearestX(xs, frame.x, pointInside(event).x));
  const onKeyDown = (event) => {
    const at = xs.indexOf(shown);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1 }[event.key];
    if (to !== undefined) setPointed(xs[Math.min(Math.max(to, 0), xs.length - 1)]);
    else if (event.key === "Enter" && onPick) onPick(shown);
    else return;
    event.preventDefault();
  };

  return html`<div class="chart anchor">
    <p class="chart-readout row small" aria-live=${pointed === null ? "off" : "polite"}>
      <span class="chart-at">${xAxis.name} ${format(shown)}</span>
      ${series.map((each) => html`<${Reading} key=${each.name} ...${each} at=${shown} axis=${yAxis} />`)}
    </p>
    <p class="muted small" aria-hidden="true">${yAxis.name}</p>
    <div
      class=${`chart-plot anchor ${onPick ? "is-pickable" : ""}`} role="group" tabindex="0" aria-label=${msg`${label}. Use the arrow keys to read the values.`}
      ref=${ref} style=${`height:${height}px`} onPointerMove=${onPointerMove} onPointerLeave=${() => setPointed(null)}
      onBlur=${() => setPointed(null)} onKeyDown=${onKeyDown} onClick=${() => onPick?.(shown)}
    >
      ${
        frame &&
        html`<${Drawing} frame=${frame} series=${series} xAxis=${{ format }} yAxis=${yAxis} shown=${shown} current=${current} />`
      }
    </div>
    <p class="centred muted small" aria-hidden="true">${xAxis.name}</p>
    <${Numbers} label=${label} xAxis=${xAxis} yAxis=${yAxis} xs=${xs} series=${series} />
  </div>`;
}

function layOut(series, yAxis, width, height) {
  const ends = domains(series, yAxis.cap);
  const y = scaleLinear(ends.y, [height - BOTTOM_PX, TOP_PX])
    .nice(Y_TICKS)
    .clamp(true);
  const yTicks = y.ticks(Y_TICKS);
  const left = Math.max(...yTicks.map((tick) => yAxis.format(tick).length)) * CHARACTER_PX + 8;
  const named = series.filter(({ kind }) => kind !== "bar");
  const names = Math.max(0, ...named.map(({ name }) => name.length)) * CHARACTER_PX + 10;
  const right = named.length ? Math.min(names, width * NAMES_SHARE) : 4;
  const x = scaleLinear(ends.x, [left, width - right]);
  const xTicks = x.ticks(Math.max(2, Math.round((width - left - right) / X_TICK_PX))).filter(Number.isInteger);
  const wanted = named.map(({ points }) => y(points[points.length - 1].y));
  const levels = spread(wanted, { low: TOP_PX, high: height - BOTTOM_PX, least: LABEL_PX });
  return { x, y, xTicks, yTicks, left, right: width - right, bottom: height - BOTTOM_PX, width, height, named, levels };
}

const Drawing = ({ frame, series, xAxis, yAxis, shown, current }) => html`<svg
  width=${frame.width} height=${frame.height} aria-hidden="true"
>
  ${frame.yTicks.map(
    (tick) => html`<g key=${tick} transform=${`translate(0,${frame.y(tick)})`}>
      <line class="chart-grid" x1=${frame.left} x2=${frame.right} />
      <text class="chart-tick small mono" x=${frame.left - 6} dy="0.35em" text-anchor="end">${yAxis.format(tick)}</text>
    </g>`,
  )}
  ${frame.xTicks.map(
    (
      tick,
    ) => html`<text key=${tick} class="chart-tick small mono" x=${frame.x(tick)} y=${frame.bottom + 16} text-anchor="middle">
      ${xAxis.format(tick)}
    </text>`,
  )}
  <${Marks} frame=${frame} series=${series} current=${current} />
  <${CutOff} frame=${frame} series=${series} format=${yAxis.exact ?? yAxis.format} />
  <line class="chart-cursor" x1=${frame.x(shown)} x2=${frame.x(shown)} y1=${TOP_PX} y2=${frame.bottom} />
  ${frame.named.map(
    ({ name, tone, thin }, i) => html`<text
    key=${name} class=${`chart-name strong small tone-${tone} ${thin ? "is-thin" : ""}`} x=${frame.right + 6} y=${frame.levels[i]} dy="0.35em"
  >${name}</text>`,
  )}
</svg>`;

function Marks({ frame, series, current }) {
  return series.map((each) => {
    const tone = `tone-${each.tone} ${each.thin ? "is-thin" : ""}`;
    if (each.kind !== "bar")
      return html`<path key=${each.name} class=${`chart-line ${tone}`} d=${PATHS[each.kind](each.points, frame)} />`;
    return barBoxes(each.points, frame).map(
      (box, i) => html`<rect
        key=${`${each.name} ${i}`} class=${`chart-bar ${tone} ${each.points[i].x === current ? "is-current" : ""}`} ...${box}
      />`,
    );
  });
}

/** Cuts each bar that is taller than the axis, and writes its value there. */
function CutOff({ frame, series, format }) {
  const top = frame.y.domain()[1];
  return series
    .filter(({ kind }) => kind === "bar")
    .flatMap(({ points }) => points.filter(({ y }) => y > top))
    .map(
      ({ x, y }) => html`<g key=${x} transform=${`translate(${frame.x(x)},${TOP_PX + 14})`}>
        <path class="chart-cut" d="M-20,4L20,-4" /><text class="chart-tick small mono" x="20" dy="-0.1em">${format(y)}</text>
      </g>`,
    );
}

function valueAt(points, x) {
  return points.find((point) => point.x === x)?.y ?? null;
}

function Reading({ name, tone, points, at, axis }) {
  const value = valueAt(points, at);
  if (value === null) return null;
  const text = (axis.exact ?? axis.format)(value);
  return html`<span class="chart-reading"><span class=${`word tone-${tone}`}>${name}</span> <b class="number">${text}</b></span>`;
}

function Numbers({ label, xAxis, yAxis, xs, series }) {
  return useMemo(() => {
    const columns = [xAxis, ...series].map(({ name }) => ({ head: name }));
    const values = series.map(({ points }) => new Map(points.map(({ x, y }) => [x, y])));
    const write = (value) => (value === undefined || value === null ? "–" : (yAxis.exact ?? yAxis.format)(value));
    const rows = xs.map((x) => ({
      key: x,
      head: (xAxis.format ?? String)(x),
      cells: values.map((ofSeries) => write(ofSeries.get(x))),
    }));
    return html`<div class="visually-hidden"><${Table} name=${label} columns=${columns} rows=${rows} scrolls=${false} /></div>`;
  }, [series, xs, label]);
}
