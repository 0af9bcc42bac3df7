/** Experiments: the engine runs the same workload with several values of one setting, and the results are compared. */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { integer, listed } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Chart } from "../../shared/ui/chart.js";
import { passCount } from "../../shared/words/counts.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import { searchOf } from "../address.js";
import { EXPERIMENTS, firstChoices, valuesOf } from "../experiments.js";
import { letterOf } from "../owners.js";
import { Choice } from "./choice.js";
import { RequestFile } from "./request-file.js";
import { SideBySide } from "./side-by-side.js";
import { Slope } from "./slope.js";
import { useResult } from "./use-result.js";
import { RESULT } from "./wide-result.js";

/** @param {{client: Object, limits: Object, state: Object, seen: Object|null, live: boolean, framed: boolean, dispatch: Function}} props `seen`: the result of the log in sight */
export function Experiments({ client, limits, state, seen, live, framed, dispatch }) {
  const shown = framed ? EXPERIMENTS.filter(({ id }) => state.tries[id]) : EXPERIMENTS;
  if (!shown.length) return null;
  return html`<section class="experiments stack" aria-label=${msg`Experiments`} data-names="experiments">
    <h2>${msg`Experiments`} <${Badge} origin="measured" /></h2>
    <div class="experiment-cards">
      ${shown.map((experiment) => html`<${ExperimentCard} key=${experiment.id} experiment=${experiment} client=${client} limits=${limits} state=${state} seen=${seen} live=${live} framed=${framed} dispatch=${dispatch} />`)}
    </div>
  </section>`;
}

function ExperimentCard({ experiment, client, limits, state, seen, live, framed, dispatch }) {
  const result = useResult(client, state.tries[experiment.id] ?? null, state.log, seen);
  const { run, starting, problem, actions } = state;
  const { name, about } = experiment;
  const inSight = result?.run === run;
  const going = inSight && live;
  const opened = state.experiment === experiment.id;
  const [chosen, setChosen] = useState(() => firstChoices(experiment));
  const [sent, setSent] = useState(null);
  const file = chosen.file ?? null;
  const isNew = file !== sent;
  const isAgain = result && (file || !result.ofFile);
  const tryOut = async () => {
    if (await actions.tryOut(experiment, chosen)) setSent(file);
  };
  return html`<section class=${`experiment stack tight${opened ? " is-opened" : ""}`} data-names=${`experiment-${experiment.id}`} aria-label=${name} ref=${useIntoView(opened, Boolean(state.log?.passes.length))}>
    <div class="line between">
      <h3>${framed ? name : html`<${Opener} experiment=${experiment} opened=${opened} search=${searchOf({ run, experiment: experiment.id }, "")} dispatch=${dispatch} />`}</h3>
      ${
        !framed &&
        html`<span class="experiment-do line still">
          ${result && !inSight && html`<button type="button" class="link-button" onClick=${() => actions.show(result.run)}>${msg`Watch`}</button>`}
          <button type="button" class="button" disabled=${starting || going} aria-label=${msg`Try ${name}`} onClick=${tryOut}>${isNew ? msg`Send them` : isAgain ? msg`Again` : tryText(experiment, state.layers)}</button>
        </span>`
      }
    </div>
    <p class="muted">${about}</p>
    ${!framed && experiment.choices?.map((choice) => html`<${Choice} key=${choice.id} choice=${choice} value=${chosen[choice.id]} put=${(value) => setChosen({ ...chosen, [choice.id]: value })} />`)}
    ${!framed && experiment.file && html`<${RequestFile} kind=${experiment.file} limits=${limits} chosen=${file} put=${(read) => setChosen({ ...chosen, file: read })} />`}
    ${problem?.experiment === experiment.id && html`<p class="is-bad breaks" role="alert">${problem.text}</p>`}
    ${result && !isNew && html`<${Outcome} result=${result} going=${going} inSight=${inSight} />`}
  </section>`;
}

function tryText(experiment, layers) {
  const values = valuesOf(experiment, layers);
  if (values.length === 1) return msg`Try it`;
  if (values.length === 2) return msg`Try both`;
  if (experiment.nameOf) return msg`Try all ${values.length}`;
  const names = values.map((value) => value.name).join(", ");
  return msg`Try ${names}`;
}

/** Its name, a link to the page with this card opened. */
function Opener({ experiment: { id, name }, opened, search, dispatch }) {
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    dispatch({ type: "experiment", experiment: id });
  };
  return html`<a class="experiment-name" href=${search} aria-current=${opened ? "true" : null} onClick=${open}>${name}</a>`;
}

/** @returns {Object} the ref of an element that scrolls into view when it is opened, and again when a log in sight moves it */
function useIntoView(opened, beside) {
  const element = useRef(null);
  useEffect(() => {
    if (opened) element.current?.scrollIntoView({ block: "start" });
  }, [opened, beside]);
  return element;
}

/** The figures of an experiment with `details` are above the passes of its log, where there is room for a table. */
function Outcome({ result, going, inSight }) {
  const wide = Boolean(result.experiment.details);
  const { conclusion, disturbed, rounds, of } = result;
  if (rounds.length < of) {
    const over = integer(rounds.length);
    return html`<p class="experiment-text" role="status">${going ? msg`Running: ${over} of ${of} rounds done.` : msg`Not finished: ${over} of ${of} rounds done.`}</p>`;
  }
  const others = listed(
    rounds.filter((round) => round.others > 0).map((round) => msg`“${round.name}” in ${passCount(round.others)}`),
  );
  return html`<div class="outcome stack tight">
    ${wide && inSight ? html`<p><button type="button" class="link-button" onClick=${showResult}>${msg`Show its result`}</button></p>` : conclusion && html`<p class="experiment-text">${conclusion}</p>`}
    ${!wide && html`<${outcomeOf(result)} result=${result} />`}
    ${result.text && html`<${SameText} text=${result.text} />`}
    ${disturbed && !wide && html`<p class="experiment-text"><${Badge} origin="disturbed" /> ${disturbed}</p>`}
    ${others && html`<p class="experiment-text">${msg`Other runs used the engine during these rounds: ${others}.`}</p>`}
  </div>`;
}

/** The card may be far below it. */
function showResult() {
  document.getElementById(RESULT)?.scrollIntoView({ block: "start" });
}

function outcomeOf({ of, experiment: { figures } }) {
  if (of === 1) return OneRound;
  if (figures[0].group) return SideBySide;
  return of > 2 ? Curve : BeforeAfter;
}

function OneRound({ result: { experiment, rounds, figures } }) {
  const [{ values }] = rounds;
  return html`${experiment.figures.map(({ format }, at) => html`<p key=${at} class="outcome-more">${figures[at]} <b class="number">${values[at] === null ? "–" : format(values[at])}</b></p>`)}
    ${values.includes(null) && experiment.missing && html`<p class="muted">${experiment.missing}</p>`}`;
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
  const term = html`<${Term} id="batch-invariance">${msg`Same text`}<//>`;
  if (same === of) return html`<p class="same-text is-same"><b>${nodes`${term}: yes, ${same} of ${of}.`}</b></p>`;
  const letter = letterOf(first.request);
  const token = integer(first.token + 1);
  return html`<p class="same-text is-other"><b>${nodes`${term}: no, ${same} of ${of}.`}</b> ${msg`${letter} is the first that differs, from its token ${token} on.`}</p>`;
}
