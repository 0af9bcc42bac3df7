/** The roofline: the speed that bandwidth and peak allow on the chosen GPU and on this machine, with real steps under it. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { disturbance } from "../../shared/facts/conditions.js";
import { integer, milliseconds, percent, short, significant } from "../../shared/facts/format.js";
import { formatReadBy, keptAs } from "../../shared/facts/weights.js";
import { peakOfAttention, peakOfWeights } from "../../shared/sizes/peaks.js";
import { attainable } from "../../shared/sizes/speed.js";
import { tokenCount } from "../../shared/words/counts.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { expected, roof } from "../curves.js";
import { pointsOf } from "../points.js";
import { Figure } from "./figure.js";

/** @param {{setup: Object, gpuName: string, run: Object, measuring: Object, framed: boolean}} props */
export function Roofline({ setup, gpuName, run, measuring, framed }) {
  const { model, inputs } = setup;
  const { measured } = measuring;
  const { points, shared } = useMemo(() => pointsOf(run.steps), [run.steps]);
  const best = useMemo(() => expected(model, inputs), [model, inputs]);
  const machine = measured && { bandwidth: measured.bandwidth.per_second, flops: measured.peak.per_second };
  const series = useMemo(
    () => seriesOf({ setup, gpuName, best, machine, points, runName: run.open?.model.name }),
    [setup, measured, points],
  );
  const rows = [
    ...best.map(({ name, intensity, perSecond }) => [
      estimateLabel(model, name),
      significant(intensity),
      short(perSecond, "FLOP/s"),
      "",
    ]),
    ...points.map((point) => [
      stepLabel(point),
      significant(point.intensity),
      short(point.perSecond, "FLOP/s"),
      milliseconds(point.ms),
    ]),
  ];
  const [estimated, measuredText] = [
    html`<em class="chip is-estimated">${msg`estimated`}</em>`,
    html`<b class="is-output">${msg`measured`}</b>`,
  ];
  return html`<section class="own-card stack box is-chart" aria-label=${msg`Roofline`} data-names="roofline">
    <h2>${msg`Roofline: what limits the speed, bandwidth or peak?`}</h2>
    <p>${msg`On the sloped part of a line, memory bandwidth limits the speed; on the flat part, the peak does.`}
      ${" "}${boundsText(best, gpuName)} ${nodes`Hollow points are ${estimated}. Filled points are real steps, ${measuredText}.`}</p>
    <${Figure} name=${msg`Roofline`} x=${{ title: msg`FLOP per byte read` }} y=${{ title: msg`FLOP per second` }} series=${series} table=${{ head: [msg`point`, "FLOP/B", "FLOP/s", msg`time`], rows }} />
    <${OfRun} run=${run} shared=${shared} points=${points} machine=${machine} />
    ${!framed && html`<${Machine} measuring=${measuring} />`}
  </section>`;
}

/** Says in two sentences what limits each phase. */
function boundsText([decode, prefill], gpuName) {
  const [step, prompt] = [significant(decode.intensity), significant(prefill.intensity)];
  return [
    decode.bound === "peak"
      ? msg`On ${gpuName}, a decode step does ${step} operations (FLOP) per byte read: at best, the peak limits it.`
      : msg`On ${gpuName}, a decode step does ${step} operations (FLOP) per byte read: at best, memory bandwidth limits it.`,
    prefill.bound === "peak"
      ? msg`A prefill does ${prompt} FLOP per byte read: at best, the peak limits it.`
      : msg`A prefill does ${prompt} FLOP per byte read: at best, memory bandwidth limits it.`,
  ].join(" ");
}

const estimateLabel = ({ name }, phase) =>
  phase === "prefill" ? msg`${name}, prefill, estimated` : msg`${name}, decode, estimated`;

/** The rooflines of the GPU and of this machine, the estimates as hollow points, and the run's steps as filled points. */
function seriesOf({ setup: { model, inputs }, gpuName, best: [decode, prefill], machine, points, runName }) {
  const { bandwidth } = inputs.gpu;
  const [products, attention] = [peakOfWeights(inputs.gpu, inputs.weights), peakOfAttention(inputs.gpu, inputs.cache)];
  const gpu = inputs.gpus === 1 ? gpuName : msg`each of ${integer(inputs.gpus)} × ${gpuName}`;
  const line = (name, tone, limits, thin = false) => ({ name, kind: "line", tone, thin, points: roof(limits) });
  const estimate = ({ name: phase, intensity, perSecond }) => ({
    ...{ x: intensity, y: perSecond },
    lines: [
      estimateLabel(model, phase),
      msg`${significant(intensity)} FLOP per byte, at most ${short(perSecond, "FLOP/s")}`,
    ],
  });
  const stepsOf = (phase) => points.filter((point) => point.phase === phase).map(measuredPoint);
  const ofDecode = { tone: "computed" };
  const ofPrefill = { tone: "cached", symbol: "diamond" };
  return [
    line(gpu, "ink", { bandwidth, flops: products.flops }),
    ...(attention.flops === products.flops
      ? []
      : [line(msg`${gpu}, attention`, "ink", { bandwidth, flops: attention.flops }, true)]),
    ...(machine ? [line(msg`this machine, measured`, "output", machine)] : []),
    { name: msg`${model.name}: decode`, kind: "estimated", ...ofDecode, points: [estimate(decode)] },
    { name: msg`${model.name}: prefill`, kind: "estimated", ...ofPrefill, points: [estimate(prefill)] },
    ...(points.length
      ? [
          { name: msg`${runName}: decode steps`, kind: "measured", ...ofDecode, points: stepsOf("decode") },
          { name: msg`${runName}: prefill`, kind: "measured", ...ofPrefill, points: stepsOf("prefill") },
        ]
      : []),
  ];
}

function stepLabel({ step, phase }) {
  return phase === "prefill" ? msg`step ${integer(step)}, prefill` : msg`step ${integer(step)}, decode`;
}

/** @param {import("../points.js").Point} point */
function measuredPoint(point) {
  const { rows, tokens, ms, intensity, perSecond, bytes } = point;
  return {
    ...{ x: intensity, y: perSecond },
    lines: [
      stepLabel(point),
      msg`${tokenCount(tokens)}, of which computed: ${integer(rows)}`,
      msg`${milliseconds(ms)} measured`,
      msg`${significant(intensity)} FLOP per byte, ${short(perSecond, "FLOP/s")}`,
      msg`${short(bytes / (ms / 1000), "B/s")} read`,
    ],
  };
}

function OfRun({ run, shared, points, machine }) {
  if (run.problem) return html`<p class="own-wrong word-bad breaks" role="alert">${run.problem}</p>`;
  if (!run.open) return null;
  const reached =
    machine && points.length
      ? Math.max(...points.map(({ intensity, perSecond }) => perSecond / attainable(intensity, machine).value))
      : null;
  const { prompt, model } = run.open;
  const [start, dtype, count] = [prompt.slice(0, 60), keptAs(model), integer(points.length)];
  return html`<p class="muted">${plural(
    points.length,
    form`Filled points: ${count} step of the run “${start}”, ${model.name} in ${dtype} on ${model.device}.`,
    form`Filled points: ${count} steps of the run “${start}”, ${model.name} in ${dtype} on ${model.device}.`,
  )}
    ${run.live && ` ${msg`The run has not ended yet.`}`}
    ${shared > 0 && ` ${msg`Steps left out because they shared their pass with other runs: ${integer(shared)}.`}`}
    ${reached !== null && ` ${reachedText(reached)}`}
    ${run.steps.length > 1 && ` ${msg`Both phases read the weights in ${formatReadBy(run.steps.map((data) => ({ data })))}.`}`}
    ${" "}${msg`The engine counts the operations and bytes of its matrix products; the time is that of the whole pass.`}</p>`;
}

function reachedText(reached) {
  const share = percent(reached, 0);
  return reached > 1
    ? msg`The highest point is at ${share} of the limit that was measured on this machine now: another machine computed it, or this one is slower now than then.`
    : msg`The highest point is at ${share} of the limit that was measured on this machine now. The log does not say which machine computed the run.`;
}

function Machine({ measuring: { measured, going, problem, measure } }) {
  const again = measured ? msg`Measure again` : msg`Measure this machine`;
  return html`<div class="measuring row">
    <button type="button" class="button" disabled=${going} onClick=${measure}>${going ? msg`Measuring…` : again}</button>
    <p role="status">${
      measured
        ? html`<${Measurement} ...${measured} />`
        : html`<span class="muted">${msg`Measuring its bandwidth and peak takes a few seconds. No run may be active meanwhile.`}</span>`
    }</p>
    ${problem && html`<p class="own-wrong word-bad breaks" role="alert">${problem}</p>`}
  </div>`;
}

/** @param {Object} measured docs/frames.md, Measured */
function Measurement({ bandwidth, peak, dtype, device, threads }) {
  const speed = html`<b class="number is-output">${short(bandwidth.per_second, "B/s")}</b>`;
  const flops = html`<b class="number is-output">${short(peak.per_second, "FLOP/s")}</b>`;
  const [slowest, fastest] = bandwidth.spread.map((each) => short(each, "B/s"));
  const [reads, products] = [integer(bandwidth.takes_ms.length), integer(peak.takes_ms.length)];
  const cause = disturbance(bandwidth);
  return html`${nodes`Measured: memory bandwidth ${speed}, peak ${flops}.`}
    ${" "}${threads ? msg`${dtype} on ${device}, ${integer(threads)} threads.` : msg`${dtype} on ${device}.`}
    ${" "}${msg`These are medians of ${reads} and ${products} measurements; the bandwidth ranged from ${slowest} to ${fastest}.`}
    ${cause && ` ${msg`Disturbed: ${cause}.`}`}`;
}
