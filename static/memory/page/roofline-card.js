/** The roofline: what bandwidth and peak allow, for the chosen GPU and this machine, and real steps under it. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { disturbance } from "../../shared/facts/conditions.js";
import { keptAs } from "../../shared/facts/dtypes.js";
import { integer, milliseconds, percent, short, significant } from "../../shared/facts/format.js";
import { oneFormat } from "../../shared/facts/weights.js";
import { expected, roof } from "../curves.js";
import { pointsOf } from "../points.js";
import { attainable } from "../speed.js";
import { coloursOf, estimate, measured as filled, layoutOf, line, pointUnderRoof } from "./drawings.js";
import { Figure } from "./figure.js";

const AXES = { x: { title: "FLOP for each byte read" }, y: { title: "FLOP a second" } };

/** @param {{understood: Object, gpuName: string, run: Object, measuring: Object, framed: boolean, theme: string}} props */
export function Roofline({ understood, gpuName, run, measuring, framed, theme }) {
  const { model, inputs } = understood;
  const { measured } = measuring;
  const { points, shared } = useMemo(() => pointsOf(run.steps), [run.steps]);
  const best = useMemo(() => expected(model, inputs), [model, inputs]);
  const machine = measured && { bandwidth: measured.bandwidth.per_second, flops: measured.peak.per_second };
  const drawing = useMemo(
    () => ({
      traces: tracesOf({
        understood,
        gpuName,
        best,
        machine,
        points,
        name: run.open?.model.name,
        colours: coloursOf(theme),
      }),
      layout: layoutOf(coloursOf(theme), AXES),
    }),
    [understood, measured, points, theme],
  );
  const rows = [
    ...best.map(({ name, intensity, perSecond }) => [
      `${model.name}, ${name}, estimated`,
      significant(intensity),
      short(perSecond, "FLOP/s"),
      "",
    ]),
    ...points.map(({ step, phase, intensity, perSecond, ms }) => [
      `step ${integer(step)}, ${phase}`,
      significant(intensity),
      short(perSecond, "FLOP/s"),
      milliseconds(ms),
    ]),
  ];
  return html`<section class="own-card stack box is-chart" aria-label="Roofline">
    <h2>What bounds it: bandwidth or the peak</h2>
    <p>A roof slopes as far as memory bounds, then it is flat. ${readOut(best, gpuName)} Hollow points are <em class="chip is-estimated">estimated</em>, filled ones are real steps, <b class="is-output">measured</b>.</p>
    <${Figure} name="Roofline" drawing=${drawing} table=${{ head: ["point", "FLOP/B", "FLOP/s", "time"], rows }} />
    <${OfRun} run=${run} shared=${shared} points=${points} machine=${machine} />
    ${!framed && html`<${Machine} measuring=${measuring} />`}
  </section>`;
}

function readOut(best, gpuName) {
  const [decode, prefill] = best.map(
    ({ intensity, bound }) => `${significant(intensity)} FLOP for each byte that it reads, so ${bound} bounds it`,
  );
  return `On ${gpuName} a step of decode does ${decode}; a prefill does ${prefill}.`;
}

function tracesOf({ understood: { model, inputs }, gpuName, best: [decode, prefill], machine, points, name, colours }) {
  const gpu = { bandwidth: inputs.gpus * inputs.gpu.bandwidth, flops: inputs.gpus * inputs.gpu.flops };
  const at = ({ name: phase, intensity, perSecond }) => ({
    ...{ x: intensity, y: perSecond },
    says: `${model.name}, ${phase}, estimated<br>${significant(intensity)} FLOP a byte, at best ${short(perSecond, "FLOP/s")}`,
  });
  const of = (phase) => points.filter((point) => point.phase === phase).map(pointUnderRoof);
  return [
    line(inputs.gpus === 1 ? gpuName : `${inputs.gpus} × ${gpuName}`, roof(gpu), colours.ink),
    ...(machine ? [line("this machine, measured", roof(machine), colours.output)] : []),
    estimate(`${model.name}: decode`, [at(decode)], colours.computed),
    estimate(`${model.name}: prefill`, [at(prefill)], colours.cached, "diamond"),
    ...(points.length
      ? [
          filled(`${name}: decode steps`, of("decode"), colours.computed),
          filled(`${name}: prefill`, of("prefill"), colours.cached, "diamond"),
        ]
      : []),
  ];
}

function OfRun({ run, shared, points, machine }) {
  if (run.problem) return html`<p class="own-wrong word-bad breaks" role="alert">${run.problem}</p>`;
  if (!run.open) return null;
  const reached =
    machine && points.length
      ? Math.max(...points.map(({ intensity, perSecond }) => perSecond / attainable(intensity, machine).value))
      : null;
  return html`<p class="muted">Filled points: ${integer(points.length)} steps of the run “${run.open.prompt.slice(0, 60)}”, ${run.open.model.name} in ${keptAs(run.open.model)} on ${run.open.model.device}${run.live ? ", still going on" : ""}.${" "}
    ${shared > 0 && html` ${integer(shared)} more shared their pass with other runs and are left out.`}
    ${reached !== null && html` The nearest to this machine’s roof reaches ${percent(reached, 0)} of it${reached > 1 ? ": it was computed on another machine, or this one has less to give just now" : ""}.`}
    ${readSays(run)}
    ${" "}The operations and bytes are those that the engine counts of its products; the time is that of its pass.</p>`;
}

/** Bytes of prefill and of decode may be of two formats: then the points differ for that reason too. */
function readSays({ steps, open: { model } }) {
  const alone = steps.filter(({ batch }) => batch === 1).map((data) => ({ data }));
  const of = (wanted) =>
    oneFormat(
      alone.filter(({ data }) => data.phase === wanted),
      model,
    );
  const [prefill, decode] = [of("prefill"), of("decode")];
  if (!prefill || !decode) return "";
  if (prefill === decode) return ` Both phases read the weights in ${decode}.`;
  return ` Prefill read the weights in ${prefill}, decode steps in ${decode}: fewer or more bytes for the same weights, which alone moves their points apart.`;
}

function Machine({ measuring: { measured, going, problem, measure } }) {
  return html`<div class="measuring row">
    <button type="button" class="button" disabled=${going} onClick=${measure}>${going ? "Measuring…" : measured ? "Measure again" : "Measure this machine"}</button>
    <p role="status">${
      measured
        ? html`Reads <b class="number is-output">${short(measured.bandwidth.per_second, "B/s")}</b>, multiplies at <b class="number is-output">${short(measured.peak.per_second, "FLOP/s")}</b>: measured, ${measured.dtype} on ${measured.device}${measured.threads ? html`, ${integer(measured.threads)} threads` : ""}, medians of ${integer(measured.bandwidth.takes_ms.length)} and ${integer(measured.peak.takes_ms.length)} takes, from ${short(measured.bandwidth.spread[0], "B/s")} to ${short(measured.bandwidth.spread[1], "B/s")}${disturbance(measured.bandwidth) ? `. Disturbed: ${disturbance(measured.bandwidth)}` : ""}.`
        : html`<span class="muted">Its own bandwidth and peak take a few seconds, and no run may be going on.</span>`
    }</p>
    ${problem && html`<p class="own-wrong word-bad breaks" role="alert">${problem}</p>`}
  </div>`;
}
