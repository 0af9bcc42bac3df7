/** Cache and time of both runs, side by side. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { accountOf, decodeSteps, decodeTimes } from "../shared/compare/differences.js";
import { bytes, integer, milliseconds } from "../shared/facts/format.js";
import { formatReadBy } from "../shared/facts/weights.js";
import { Badge } from "../shared/ui/badge.js";
import { Chart } from "../shared/ui/chart.js";
import { Table } from "../shared/ui/table.js";
import { msg } from "../shared/words/msg.js";

const MINUS = "\u2212";

/**
 * @param {{a: Object|null, b: Object|null, runs: Object[], version: *, isHere: (run: Object) => boolean}} props `a`, `b`: {run, step}, or null
 *   for a run that has no such step; `isHere`: whether this server computed a run
 */
export function FiguresCard({ a, b, runs, version, isHere }) {
  const apart = timesApart(runs[0], runs[1], isHere);
  const accounts = [a, b].map((side) => side && accountOf(side));
  const decode = runs.map(decodeTimes);
  const isQuiet = accounts.every((account) => !account?.disturbed);
  const isDisturbed = !apart && (!isQuiet || decode.some(({ disturbed }) => disturbed > 0));
  const row = (name, format, value, differs = true) =>
    rowOf(
      name,
      format,
      accounts.map((account) => account && value(account)),
      differs,
    );
  const times = [
    row(msg`Time of the step`, milliseconds, ({ total }) => total, isQuiet),
    row(msg`Forward passes`, milliseconds, ({ forward }) => forward, isQuiet),
    rowOf(
      msg`Median decode step of the run`,
      milliseconds,
      decode.map(({ median }) => median),
    ),
  ];
  return html`<section class="own-card stack box compare-costs" aria-label=${msg`Cache and time`}>
    <h2>${msg`Cache and time`} <${Badge} origin=${isDisturbed ? "disturbed" : "measured"} /></h2>
    <${Table}
      name=${msg`In this step`} columns=${[{ head: msg`In this step` }, { head: "A" }, { head: "B" }, { head: "B − A" }]}
      rows=${[
        row(msg`K and V in the cache`, bytes, ({ used }) => used),
        row(msg`Whole blocks for it`, bytes, ({ reserved }) => reserved),
        row(msg`Written`, bytes, ({ written }) => written),
        row(msg`Rows computed`, integer, ({ rows }) => rows),
        ...(apart ? [] : times),
      ]}
    />
    ${apart ? html`<p class="muted small">${apart}</p>` : html`<${Causes} sides=${accounts} decode=${decode} />`}
    ${!apart && html`<${Times} runs=${runs} version=${version} step=${a?.step ?? b?.step ?? null} />`}
  </section>`;
}

/**
 * @param {import("../shared/log/run.js").Run} a
 * @param {import("../shared/log/run.js").Run} b
 * @param {(run: import("../shared/log/run.js").Run) => boolean} isHere whether this server computed a run
 * @returns {string|null} why times of both runs must not stand side by side; null if they may
 */
export function timesApart(a, b, isHere) {
  if (isHere(a) !== isHere(b))
    return msg`One of the runs was recorded, perhaps on another machine, so times do not stand side by side.`;
  const [one, other] = [a, b].map(({ steps }) => formatReadBy(steps));
  if (one !== null && other !== null && one !== other)
    return msg`A reads the weights in ${one}, B in ${other}, so times do not stand side by side.`;
  return null;
}

/** @returns {import("../shared/ui/table.js").Row} both values and B − A; `differs`: false where a disturbed value makes the difference useless */
function rowOf(name, format, values, differs = true) {
  const [a, b] = values;
  const known = a !== null && b !== null && differs;
  const change = known ? (a === b ? "0" : `${b < a ? MINUS : "+"}${format(Math.abs(b - a))}`) : "–";
  return { key: name, head: name, cells: [...values.map((value) => (value === null ? "–" : format(value))), change] };
}

function Causes({ sides, decode }) {
  return ["A", "B"].map((name, i) => {
    const { steps, disturbed } = decode[i];
    const cause = sides[i]?.disturbed;
    return html`${cause && html`<p class="muted small" key=${`${name}-step`}>${msg`Disturbed in ${name}: ${cause}.`}</p>`}
      ${disturbed > 0 && html`<p class="muted small" key=${`${name}-run`}>${msg`Of the ${steps} decode steps of ${name}, ${disturbed} were disturbed and are not in the median.`}</p>`}`;
  });
}

/** Ticks of an axis are round numbers. */
const ms = (value) => `${integer(value)}\u202fms`;

function Times({ runs, version, step }) {
  const series = useMemo(
    () =>
      runs
        .map((run, i) => ({
          name: ["A", "B"][i],
          kind: /** @type {"line"} */ ("line"),
          tone: ["plain", "output"][i],
          thin: i === 0,
          points: decodeSteps(run)
            .filter(({ data }) => data.ms)
            .map(({ data }) => ({ x: data.step, y: data.ms.total })),
        }))
        .filter(({ points }) => points.length > 0),
    [runs[0], runs[1], version],
  );
  if (!series.length) return null;
  return html`<${Chart} label=${msg`Time of each decode step`} x=${{ name: msg`step` }} y=${{ name: msg`measured time`, format: ms }} series=${series} current=${step} height=${150} />`;
}
