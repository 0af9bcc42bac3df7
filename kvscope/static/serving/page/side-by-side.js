/** The outcome of an experiment whose figures are counted for several groups of answers: one column for each round. */

import { html } from "htm/preact";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";

/** @param {{result: import("../results.js").Result}} props */
export function SideBySide({ result: { experiment, rounds, disturbed } }) {
  const { figures, method, shortOf } = experiment;
  const [first] = rounds;
  /** @param {import("../experiments.js").Figure} figure */
  const cellOf = ({ format, against }, at, round) => {
    const value = round.values[at];
    const change = disturbed || round === first ? null : against?.(first.values, round.values);
    return html`${value === null ? "–" : format(value)}${change && html` <small>${change}</small>`}`;
  };
  const rowsOf = (group) =>
    figures.map(
      (figure, at) =>
        figure.group === group && { head: figure.name, cells: rounds.map((round) => cellOf(figure, at, round)) },
    );
  const columns = rounds.map(({ name, value }) => ({ head: shortOf ? shortOf(value) : name, title: name }));
  const groups = [...new Set(figures.map(({ group }) => group))];
  return html`<${Table} name=${msg`Figures of the rounds`} kind="small" columns=${[{}, ...columns]}
      groups=${groups.map((group) => ({ key: group, head: msg`the answer ${group}`, rows: rowsOf(group) }))} />
    <p class="muted">${method} ${msg`Times depend on the other work of the machine; the other figures do not.`}</p>`;
}
