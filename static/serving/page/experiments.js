/** Experiments: one setting flipped, the engine really does both, and what it came to. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { counted, integer } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Chart } from "../../shared/ui/chart.js";
import { EXPERIMENTS } from "../experiments.js";
import { letterOf } from "../owners.js";
import { Slope } from "./slope.js";
import { useResult } from "./use-result.js";

/** @param {{client: Object, state: Object, live: boolean, framed: boolean}} props */
export function Experiments({ client, state, live, framed }) {
  const shown = framed ? EXPERIMENTS.filter(({ id }) => state.tries[id]) : EXPERIMENTS;
  if (!shown.length) return null;
  return html`<section class="experiments stack" aria-label="Experiments">
    <h2>Try one setting both ways <${Badge} origin="measured" /></h2>
    <div class="experiment-cards">
      ${shown.map((experiment) => html`<${ExperimentCard} key=${experiment.id} experiment=${experiment} client=${client} state=${state} live=${live} framed=${framed} />`)}
    </div>
  </section>`;
}

const isPair = ({ values }) => values.length === 2;

function ExperimentCard({ experiment, client, state, live, framed }) {
  const result = useResult(client, state.tries[experiment.id] ?? null, state.log);
  const { run, starting, actions } = state;
  const { name, about, values } = experiment;
  const inSight = result?.run === run;
  const going = inSight && live;
  return html`<section class="experiment stack tight" aria-label=${name}>
    <div class="line between">
      <h3>${name}</h3>
      ${
        !framed &&
        html`<span class="experiment-do line still">
          ${result && !inSight && html`<button type="button" class="link-button" onClick=${() => actions.show(result.run)}>Watch</button>`}
          <button type="button" class="button" disabled=${starting || going} aria-label=${`Try ${name.toLowerCase()}`} onClick=${() => actions.tryOut(experiment)}>${result ? "Again" : isPair(experiment) ? "Try both" : `Try ${values.map((value) => value.name).join(", ")}`}</button>
        </span>`
      }
    </div>
    <p class="muted">${about}</p>
    ${result && html`<${Outcome} result=${result} going=${going} />`}
  </section>`;
}

function Outcome({ result, going }) {
  const { says, disturbed, formats, rounds, of } = result;
  if (rounds.length < of) {
    return html`<p class="experiment-says" role="status">${going ? "Under way" : "Not finished"}: ${integer(rounds.length)} of ${counted(of, "round")} done.</p>`;
  }
  const others = rounds.filter((round) => round.others > 0);
  return html`<div class="outcome stack tight">
    ${says && html`<p class="experiment-says">${says}</p>`}
    <${outcomeOf(result)} result=${result} />
    <${SameText} text=${result.text} />
    ${disturbed && html`<p class="experiment-says"><${Badge} origin="disturbed" /> ${disturbed}</p>`}
    ${formats && html`<p class="experiment-says">${formats}</p>`}
    ${others.length > 0 && html`<p class="experiment-says">Others shared the engine meanwhile: in ${others.map((round) => `${counted(round.others, "pass", "passes")} of “${round.name}”`).join(", ")}.</p>`}
  </div>`;
}

function outcomeOf({ of, experiment: { figures } }) {
  if (of > 2) return Curve;
  return figures[0].group ? SideBySide : BeforeAfter;
}

/** A column per group of figures: before → after, once where there is nothing before. */
function SideBySide({ result: { experiment, rounds, disturbed } }) {
  const groups = [...new Set(experiment.figures.map(({ group }) => group))];
  const [before, after] = rounds.map(({ values }) => values);
  const says = (at) => {
    const { format, against } = experiment.figures[at];
    const values = [before[at], after[at]].filter((value) => value !== null).map(format);
    const other = disturbed ? null : against?.(before, after);
    return html`${values.join(" → ") || "–"}${other && html` <small>${other}</small>`}`;
  };
  const rows = experiment.figures.filter(({ group }) => group === groups[0]);
  return html`<table class="outcome-table small fill">
    <thead><tr><th scope="col">the answer</th>${groups.map((group) => html`<th key=${group} scope="col">${group}</th>`)}</tr></thead>
    <tbody>${rows.map(({ name }, row) => html`<tr key=${name}><th scope="row">${name}</th>${groups.map((group, at) => html`<td key=${group} class="number">${says(row * groups.length + at)}</td>`)}</tr>`)}</tbody>
  </table>
  <p class="muted">${rounds[0].name} → ${rounds[1].name}. ${experiment.leftOut} Times hang on what else the machine did; passes and guesses do not.</p>`;
}

function BeforeAfter({ result: { experiment, rounds, figures, disturbed } }) {
  const [before, after] = rounds;
  return experiment.figures.map(({ format, better, timed }, at) => {
    const [one, other] = [before.values[at], after.values[at]];
    const says = (value) => (value === null ? "–" : format(value));
    if (at > 0)
      return html`<p key=${at} class="outcome-more">${figures[at]} <b class="number">${says(one)} → ${says(other)}</b></p>`;
    if (one === null || other === null)
      return html`<p key=${at} class="experiment-says">${figures[at]}: nothing to compare, nobody waited for it in ${one === null ? before.name : after.name}.</p>`;
    const good = one === other || (timed && disturbed) ? null : better === "more" ? other > one : other < one;
    return html`<div key=${at} class="outcome-first"><span>${figures[at]}</span>
      <${Slope} before=${{ name: before.name, value: one, says: says(one) }} after=${{ name: after.name, value: other, says: says(other) }} good=${good} /></div>`;
  });
}

/** With more than two values: a curve over them, beside the first, one after another. */
function Curve({ result: { experiment, rounds, figures } }) {
  const [{ format }] = experiment.figures;
  const series = useMemo(() => {
    const points = rounds.map(({ value, values: [y] }) => ({ x: value, y })).filter(({ y }) => y !== null);
    const alone = points.map(({ x }) => ({ x, y: points[0].y }));
    return [
      { name: "measured", kind: /** @type {const} */ ("line"), tone: "output", points },
      { name: "one after another", kind: /** @type {const} */ ("line"), tone: "plain", thin: true, points: alone },
    ];
  }, [rounds]);
  const [first, last] = [rounds[0], rounds.at(-1)];
  if (!series[0].points.length)
    return html`<p class="experiment-says">Nobody was ever answered beside so many others: there is nothing to compare.</p>`;
  return html`<${Chart} label=${`${figures[0]}, by how many are answered at once`} height=${150} series=${series}
      x=${{ name: "people at once" }} y=${{ name: figures[0], format: integer, exact: format }} />
    ${figures.slice(1).map((name, at) => html`<p key=${name} class="outcome-more">${name} <b class="number">${experiment.figures[at + 1].format(first.values[at + 1])} → ${experiment.figures[at + 1].format(last.values[at + 1])}</b></p>`)}`;
}

function SameText({ text: { same, of, first } }) {
  if (same === of)
    return html`<p class="same-text is-same"><b>Same text: yes</b>, ${integer(same)} of ${integer(of)}.</p>`;
  return html`<p class="same-text is-other"><b>Same text: no</b>, ${integer(same)} of ${integer(of)}; ${letterOf(first.request)} is the first that differs, from its token ${integer(first.token + 1)} on.</p>`;
}
