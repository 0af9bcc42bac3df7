/** The figures of an experiment in a table, one column for each round, above the passes of its log. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { originOfTimes } from "../../shared/facts/conditions.js";
import { integer } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";

/** @param {{result: import("../results.js").Result, log: import("../workload-log.js").Workload}} props */
export function FiguresResult({ result: { rounds, experiment, conclusion, disturbed, figures, of }, log }) {
  const origin = useMemo(() => originOfTimes(log.rounds.flatMap(({ end, passes }) => (end ? passes : []))), [rounds]);
  const columns = [{ words: true }, ...rounds.map(({ name }) => ({ head: name }))];
  const rows = experiment.figures.map(({ format }, at) => ({
    key: figures[at],
    head: figures[at],
    cells: rounds.map(({ values }) => (values[at] === null ? "–" : format(values[at]))),
  }));
  const [over, all] = [rounds.length, of].map(integer);
  return html`<section class="figures-result" aria-label=${msg`Result: ${experiment.name}`}>
    <div class="stack tight">
      <h2>${experiment.name} <${Badge} origin=${origin} /></h2>
      ${conclusion && html`<p>${conclusion}</p>`}
      ${rounds.length < of && html`<p class="muted">${msg`Rounds over: ${over} of ${all}.`}</p>`}
      ${disturbed && html`<p class="muted">${disturbed}</p>`}
    </div>
    <${Table} name=${msg`Figures of the rounds`} columns=${columns} rows=${rows} />
  </section>`;
}
