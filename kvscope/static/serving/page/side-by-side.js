/** The outcome of an experiment whose figures are counted of several groups of answers: a column per round. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";

/** @param {{result: import("../results.js").Result}} props */
export function SideBySide({ result: { experiment, rounds, disturbed } }) {
  const { figures, method, shortOf } = experiment;
  const groups = [...new Set(figures.map(({ group }) => group))];
  return html`<div class="across" tabindex="0" role="region" aria-label=${msg`Figures of the rounds`}><table class="outcome-table small fill">
    ${groups.map(
      (group) => html`<thead key=${group}><tr>
          <th scope="colgroup">${msg`the answer ${group}`}</th>
          ${rounds.map(({ name, value }) => html`<th key=${name} scope="col" title=${name}>${shortOf ? shortOf(value) : name}</th>`)}
        </tr></thead>
        <tbody>${figures.map((figure, at) => figure.group === group && html`<${Row} key=${at} figure=${figure} at=${at} rounds=${rounds} disturbed=${disturbed} />`)}</tbody>`,
    )}
  </table></div>
  <p class="muted">${method} ${msg`Times depend on the other work of the machine; the other figures do not.`}</p>`;
}

function Row({ figure: { name, format, against }, at, rounds, disturbed }) {
  const [first] = rounds;
  return html`<tr><th scope="row">${name}</th>${rounds.map(({ name: round, values }) => {
    const value = values[at];
    const other = disturbed || values === first.values ? null : against?.(first.values, values);
    return html`<td key=${round} class="number">${value === null ? "–" : format(value)}${other && html` <small>${other}</small>`}</td>`;
  })}</tr>`;
}
