/** The experiment on load, round by round: how long requests waited at each rate, and how many met an objective. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { originOfTimes } from "../../shared/facts/conditions.js";
import { fixed, integer, percent } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Chart } from "../../shared/ui/chart.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { answered, PERCENTS, percentile, rateText, within } from "../load.js";
import { wholeMs } from "../whole-ms.js";
import { Choice } from "./choice.js";

const FIRST_OBJECTIVE = { ttft: 2000, tpot: 200 };
const OBJECTIVES = [
  { id: "ttft", label: msg`First token within`, least: 100, most: 20_000, step: 100, text: wholeMs },
  { id: "tpot", label: msg`then per token, on average,`, least: 10, most: 2000, step: 10, text: wholeMs },
];
const TONES = ["output", "computed", "plain"];

/** @param {{result: import("../results.js").Result, log: import("../workload-log.js").Workload}} props */
export function LoadResult({ result: { rounds, experiment, conclusion, of }, log }) {
  const [objective, setObjective] = useState(FIRST_OBJECTIVE);
  const sent = log.study.requests.length;
  const origin = useMemo(() => originOfTimes(log.rounds.flatMap(({ end, passes }) => (end ? passes : []))), [rounds]);
  const loads = rounds.map(({ details }) => details);
  const series = useMemo(
    () =>
      PERCENTS.map((share, at) => ({
        ...{ name: `${integer(share)} %`, kind: /** @type {const} */ ("line"), tone: TONES[at], thin: at > 0 },
        points: rounds.map(({ values }, round) => ({ x: round, y: values[at] })).filter(({ y }) => y !== null),
      })),
    [rounds],
  );
  const [format] = experiment.figures.map((figure) => figure.format);
  return html`<section class="load" aria-label=${msg`Result of the load`}>
    <div class="stack tight">
      <h2>${msg`Time to first token at each rate`} <${Badge} origin=${origin} /></h2>
      ${conclusion && html`<p>${conclusion}</p>`}
      ${loads.length < of && html`<p class="muted">${msg`Rounds over: ${loads.length} of ${of}.`}</p>`}
      ${
        // One round is a point, which a line does not show; the table has it.
        loads.length > 1 &&
        html`<${Chart} label=${msg`Time to first token of 50, 95 and 99 % of the requests, by requests per second`} height=${210} series=${series}
        x=${{ name: msg`requests per second, each rate twice the one before`, format: (round) => rateText(loads[round].rate) }} y=${{ name: msg`within`, format: wholeMs, exact: format }} />`
      }
    </div>
    <div class="stack tight">
      <div class="result-inputs line wide">${OBJECTIVES.map(
        (each) =>
          html`<${Choice} key=${each.id} choice=${each} value=${objective[each.id]} put=${(value) => setObjective({ ...objective, [each.id]: value })} />`,
      )}</div>
      <${Table} name=${msg`Rounds of the load`} columns=${[{ words: true, head: msg`requests per second` }, ...loads.map(({ rate }) => ({ head: rateText(rate) }))]} rows=${rowsOf(loads, objective, sent)} />
      ${loads.every((load) => !within(load, objective).length) && html`<p role="status">${msg`No request of any round is within both limits.`}</p>`}
      <p class="muted">${msg`TTFT: from the arrival to the first token. TPOT: from the first token to the last, per token after the first. Goodput: answers per second within both limits. Rates are counted until the last answer ends. Of fewer than 100 requests, 99 % is the slowest one.`}</p>
    </div>
  </section>`;
}

/** @param {import("../load.js").Load[]} loads */
function rowsOf(loads, objective, sent) {
  const row = (head, of) => ({ key: head, head, cells: loads.map(of) });
  const ms = (value) => (value === null ? "–" : wholeMs(value));
  const times = (name, of) =>
    PERCENTS.map((share) => row(`${name}, ${integer(share)} %`, ({ served }) => ms(percentile(served.map(of), share))));
  return [
    row(msg`goodput per second`, (load) => rateText(answered(load, within(load, objective)))),
    row(msg`requests within both limits`, (load) => percent(within(load, objective).length / sent, 0)),
    row(msg`answers per second`, (load) => rateText(answered(load))),
    row(msg`tokens per second`, ({ tokens, seconds }) => (seconds ? fixed(tokens / seconds, 0) : "–")),
    ...times("TTFT", ({ ttft }) => ttft),
    ...times("TPOT", ({ tpot }) => tpot),
    row(msg`waiting at the same time, at most`, ({ queue }) => integer(queue)),
    row(msg`busy, of several engines on average`, ({ busy }) => (busy === null ? "–" : percent(busy, 0))),
    row(msg`passes with a full batch`, ({ full }) => percent(full, 0)),
    row(msg`requests that waited for blocks`, ({ waits }) => integer(waits.blocks)),
    row(msg`requests that waited for the token budget`, ({ waits }) => integer(waits.budget)),
    row(msg`prompt tokens in the cache`, ({ found }) => percent(found, 0)),
    row(msg`requests refused`, ({ refused }) => integer(refused)),
    row(msg`preemptions`, ({ preempted }) => integer(preempted.times)),
    row(msg`passes disturbed by other work or other runs`, ({ disturbed }) => percent(disturbed, 0)),
  ];
}
