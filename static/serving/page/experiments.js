/** Experiments: the engine runs the same workload with several values of one setting, and the results are compared. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { integer, listed } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Chart } from "../../shared/ui/chart.js";
import { passCount } from "../../shared/words/counts.js";
import { msg } from "../../shared/words/msg.js";
import { EXPERIMENTS } from "../experiments.js";
import { letterOf } from "../owners.js";
import { Slope } from "./slope.js";
import { useResult } from "./use-result.js";

/** @param {{client: Object, state: Object, live: boolean, framed: boolean}} props */
export function Experiments({ client, state, live, framed }) {
  const shown = framed ? EXPERIMENTS.filter(({ id }) => state.tries[id]) : EXPERIMENTS;
  if (!shown.length) return null;
  return html`<section class="experiments stack" aria-label=${msg`Experiments`}>
    <h2>${msg`Compare two values of one setting`} <${Badge} origin="measured" /></h2>
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
  const others = values.map((value) => value.name).join(", ");
  return html`<section class="experiment stack tight" aria-label=${name}>
    <div class="line between">
      <h3>${name}</h3>
      ${
        !framed &&
        html`<span class="experiment-do line still">
          ${result && !inSight && html`<button type="button" class="link-button" onClick=${() => actions.show(result.run)}>${msg`Watch`}</button>`}
          <button type="button" class="button" disabled=${starting || going} aria-label=${msg`Try ${name}`} onClick=${() => actions.tryOut(experiment)}>${result ? msg`Again` : isPair(experiment) ? msg`Try both` : msg`Try ${others}`}</button>
        </span>`
      }
    </div>
    <p class="muted">${about}</p>
    ${result && html`<${Outcome} result=${result} going=${going} />`}
  </section>`;
}

function Outcome({ result, going }) {
  const { conclusion, disturbed, formats, rounds, of } = result;
  if (rounds.length < of) {
    const over = integer(rounds.length);
    return html`<p class="experiment-text" role="status">${going ? msg`Running: ${over} of ${of} rounds done.` : msg`Not finished: ${over} of ${of} rounds done.`}</p>`;
  }
  const others = listed(
    rounds.filter((round) => round.others > 0).map((round) => msg`“${round.name}” in ${passCount(round.others)}`),
  );
  return html`<div class="outcome stack tight">
    ${conclusion && html`<p class="experiment-text">${conclusion}</p>`}
    <${outcomeOf(result)} result=${result} />
    <${SameText} text=${result.text} />
    ${disturbed && html`<p class="experiment-text"><${Badge} origin="disturbed" /> ${disturbed}</p>`}
    ${formats && html`<p class="experiment-text">${formats}</p>`}
    ${others && html`<p class="experiment-text">${msg`Other runs used the engine during these rounds: ${others}.`}</p>`}
  </div>`;
}

function outcomeOf({ of, experiment: { figures } }) {
  if (of > 2) return Curve;
  return figures[0].group ? SideBySide : BeforeAfter;
}

/** A column per group of figures: before → after, or one value where there is none before. */
function SideBySide({ result: { experiment, rounds, disturbed } }) {
  const groups = [...new Set(experiment.figures.map(({ group }) => group))];
  const [before, after] = rounds.map(({ values }) => values);
  const cell = (at) => {
    const { format, against } = experiment.figures[at];
    const values = [before[at], after[at]].filter((value) => value !== null).map(format);
    const other = disturbed ? null : against?.(before, after);
    return html`${values.join(" → ") || "–"}${other && html` <small>${other}</small>`}`;
  };
  const rows = experiment.figures.filter(({ group }) => group === groups[0]);
  return html`<table class="outcome-table small fill">
    <thead><tr><th scope="col">${msg`the answer`}</th>${groups.map((group) => html`<th key=${group} scope="col">${group}</th>`)}</tr></thead>
    <tbody>${rows.map(({ name }, row) => html`<tr key=${name}><th scope="row">${name}</th>${groups.map((group, at) => html`<td key=${group} class="number">${cell(row * groups.length + at)}</td>`)}</tr>`)}</tbody>
  </table>
  <p class="muted">${rounds[0].name} → ${rounds[1].name}. ${experiment.method} ${msg`Times depend on the other work of the machine; passes and guesses do not.`}</p>`;
}

function BeforeAfter({ result: { experiment, rounds, figures, disturbed } }) {
  const [before, after] = rounds;
  return experiment.figures.map(({ format, better, timed }, at) => {
    const [one, other] = [before.values[at], after.values[at]];
    const text = (value) => (value === null ? "–" : format(value));
    const figure = figures[at];
    if (at > 0)
      return html`<p key=${at} class="outcome-more">${figure} <b class="number">${text(one)} → ${text(other)}</b></p>`;
    if (one === null || other === null) {
      const name = one === null ? before.name : after.name;
      return html`<p key=${at} class="experiment-text">${msg`${figure}: not compared, because round “${name}” has no value for it.`}</p>`;
    }
    const good = one === other || (timed && disturbed) ? null : better === "more" ? other > one : other < one;
    return html`<div key=${at} class="outcome-first"><span>${figure}</span>
      <${Slope} before=${{ name: before.name, value: one, text: text(one) }} after=${{ name: after.name, value: other, text: text(other) }} good=${good} /></div>`;
  });
}

/** With more than two values: a curve over them, and the first value as a line beside it. */
function Curve({ result: { experiment, rounds, figures } }) {
  const [{ format }] = experiment.figures;
  const series = useMemo(() => {
    const points = rounds.map(({ value, values: [y] }) => ({ x: value, y })).filter(({ y }) => y !== null);
    const alone = points.map(({ x }) => ({ x, y: points[0].y }));
    return [
      { name: msg`measured`, kind: /** @type {const} */ ("line"), tone: "output", points },
      { name: msg`one after another`, kind: /** @type {const} */ ("line"), tone: "plain", thin: true, points: alone },
    ];
  }, [rounds]);
  const [first, last] = [rounds[0], rounds.at(-1)];
  if (!series[0].points.length)
    return html`<p class="experiment-text">${msg`The batch was never full, so there is nothing to compare.`}</p>`;
  return html`<${Chart} label=${msg`${figures[0]}, by requests at once`} height=${150} series=${series}
      x=${{ name: msg`requests at once` }} y=${{ name: figures[0], format: integer, exact: format }} />
    ${figures.slice(1).map((name, at) => html`<p key=${name} class="outcome-more">${name} <b class="number">${experiment.figures[at + 1].format(first.values[at + 1])} → ${experiment.figures[at + 1].format(last.values[at + 1])}</b></p>`)}`;
}

function SameText({ text: { same, of, first } }) {
  if (same === of) return html`<p class="same-text is-same"><b>${msg`Same text: yes, ${same} of ${of}.`}</b></p>`;
  const letter = letterOf(first.request);
  const token = integer(first.token + 1);
  return html`<p class="same-text is-other"><b>${msg`Same text: no, ${same} of ${of}.`}</b> ${msg`${letter} is the first that differs, from its token ${token} on.`}</p>`;
}
