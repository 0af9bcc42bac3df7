/** Cache and time of both runs, side by side. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { accountOf, decodeSteps, decodeTimes } from "../shared/compare/differences.js";
import { bytes, integer, milliseconds } from "../shared/facts/format.js";
import { Badge } from "../shared/ui/badge.js";
import { Chart } from "../shared/ui/chart.js";
import { msg } from "../shared/words/msg.js";
import { timesApart } from "./times-apart.js";

const MINUS = "\u2212";

/**
 * @param {{a: Object|null, b: Object|null, runs: Object[], version: *, isHere: (run: Object) => boolean}} props sides; null: no step of that run is
 *   here; `isHere`: whether this server computed a run
 */
export function FiguresCard({ a, b, runs, version, isHere }) {
  const apart = timesApart(runs[0], runs[1], isHere);
  const [one, other] = [a, b].map((side) => side && accountOf(side));
  const decode = runs.map(decodeTimes);
  const quiet = [one, other].every((each) => !each?.disturbed);
  const disturbed = !apart && (!quiet || decode.some(({ disturbed }) => disturbed > 0));
  const row = (name, format, value) => ({ name, format, a: one && value(one), b: other && value(other) });
  const medians = {
    name: msg`Median decode step of the run`,
    format: milliseconds,
    a: decode[0].median,
    b: decode[1].median,
  };
  return html`<section class="own-card stack box compare-costs" aria-label=${msg`Cache and time`}>
    <h2>${msg`Cache and time`} <${Badge} origin=${disturbed ? "disturbed" : "measured"} /></h2>
    <table class="compare-figures">
      <thead><tr><th scope="col">${msg`In this step`}</th><th scope="col" class="is-number">A</th><th scope="col" class="is-number">B</th><th scope="col" class="is-number">B − A</th></tr></thead>
      <tbody>
        ${[
          row(msg`K and V in the cache`, bytes, ({ used }) => used),
          row(msg`Whole blocks for it`, bytes, ({ reserved }) => reserved),
          row(msg`Written`, bytes, ({ written }) => written),
          row(msg`Rows computed`, integer, ({ rows }) => rows),
          ...(apart
            ? []
            : [
                { ...row(msg`Time of the step`, milliseconds, ({ total }) => total), quiet },
                { ...row(msg`Forward passes`, milliseconds, ({ forward }) => forward), quiet },
                medians,
              ]),
        ].map((each) => html`<${Row} key=${each.name} ...${each} />`)}
      </tbody>
    </table>
    ${apart ? html`<p class="muted small">${apart}</p>` : html`<${Causes} sides=${[one, other]} decode=${decode} />`}
    ${!apart && html`<${Times} runs=${runs} version=${version} step=${a?.step ?? b?.step ?? null} />`}
  </section>`;
}

/** @param {Object} props `quiet`: false where a value was disturbed, so that a difference would say nothing */
function Row({ name, format, a, b, quiet = true }) {
  const shown = (value) => (value === null ? "–" : format(value));
  const change =
    a === null || b === null || !quiet ? "–" : a === b ? "0" : `${b < a ? MINUS : "+"}${format(Math.abs(b - a))}`;
  return html`<tr><th scope="row">${name}</th><td class="is-number">${shown(a)}</td><td class="is-number">${shown(b)}</td><td class="is-number">${change}</td></tr>`;
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
          points: decodeSteps(run).map(({ data }) => ({ x: data.step, y: data.ms.total })),
        }))
        .filter(({ points }) => points.length > 0),
    [runs[0], runs[1], version],
  );
  if (!series.length) return null;
  return html`<${Chart} label=${msg`Time of each decode step`} x=${{ name: msg`step` }} y=${{ name: msg`measured time`, format: ms }} series=${series} current=${step} height=${150} />`;
}
