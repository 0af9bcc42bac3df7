/** The one table of the pages: columns with a header, rows with a header, and a region that scrolls sideways. */

import { html } from "htm/preact";

/**
 * @param {Object} props
 * @param {string} props.name accessible name
 * @param {(Column|false|null)[]} props.columns the first is that of the row headers
 * @param {(Row|false|null)[]} props.rows
 * @param {preact.ComponentChildren} [props.caption] shown above the table
 * @param {string} [props.kind] further classes of the table
 *
 * @typedef {{head?: preact.ComponentChildren, words?: boolean, title?: string}} Column `words`: its cells are text, aligned at
 *   the start; without it they are numbers, aligned at the end
 * @typedef {{key?: string|number, head?: preact.ComponentChildren, cells?: preact.ComponentChildren[], says?: preact.ComponentChildren,
 *   current?: boolean, kind?: string}} Row `says`: a line over all columns below the row, or in its place; `current`: of the step shown
 */
export function Table({ name, columns, rows, caption, kind = "" }) {
  const shown = columns.filter(Boolean);
  const look = (column) => (column?.words ? "is-words" : "is-number");
  return html`<div class="across" tabindex="0" role="region" aria-label=${name}>
    <table class="data-table ${kind}" aria-label=${name}>
      ${caption && html`<caption>${caption}</caption>`}
      <thead><tr>${shown.map(({ head, title, ...column }, at) =>
        head
          ? html`<th key=${at} scope="col" title=${title} class=${at ? look(column) : "is-words"}>${head}</th>`
          : html`<td key=${at}></td>`,
      )}</tr></thead>
      <tbody>${rows.filter(Boolean).map(
        ({ key, head, cells, says, current, kind: looks = "" }, at) => html`
          ${
            cells &&
            html`<tr key=${key ?? at} class="${current ? "is-current" : ""} ${looks}" aria-current=${current ? "true" : undefined}>
              <th scope="row">${head}</th>
              ${cells.map((cell, of) => html`<td key=${of} class=${look(shown[of + 1])}>${cell}</td>`)}
            </tr>`
          }
          ${says && html`<tr key=${`${key ?? at} says`} class="table-says ${looks}"><td colspan=${shown.length}>${says}</td></tr>`}`,
      )}</tbody>
    </table>
  </div>`;
}
