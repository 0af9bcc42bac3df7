/** The one table of the pages: column headers, row headers, and a region that scrolls sideways. */

import { html } from "htm/preact";
import { cloneElement } from "preact";

/**
 * @param {Object} props
 * @param {string} props.name accessible name of the table and its region
 * @param {(Column|false|null)[]} props.columns the first holds the row headers; falsy ones are left out
 * @param {(Row|false|null)[]} [props.rows]
 * @param {{key?: string|number, head: preact.ComponentChildren, rows: (Row|false|null)[]}[]} [props.groups] rows under a header of
 *   their own, in place of `rows`
 * @param {preact.ComponentChildren} [props.caption] shown above the table
 * @param {string} [props.kind] further classes of the table
 * @param {boolean} [props.scrolls] false: a table that always fits, without a region
 *
 * @typedef {{head?: preact.ComponentChildren, words?: boolean, title?: string}} Column `words`: its cells are text, aligned at
 *   the start; without it they are numbers, aligned at the end
 * @typedef {{key?: string|number, head?: preact.ComponentChildren, cells?: preact.ComponentChildren[], says?: preact.ComponentChildren,
 *   current?: boolean, kind?: string, on?: Object}} Row
 *   `head`: its header; a row without one has its first cell in the first column. `cells`: a cell that is a `<td>` keeps its
 *   attributes. `says`: a line over all columns below the row, or in its place. `current`: the row of the selected step.
 *   `on`: attributes and event handlers of its element
 */
export function Table({ name, columns, rows, groups, caption, kind = "", scrolls = true }) {
  const shown = /** @type {Column[]} */ (columns.filter(Boolean));
  const table = html`<table class="data-table ${kind}" aria-label=${name}>
    ${caption && html`<caption>${caption}</caption>`}
    ${shown.some(({ head }) => head) && html`<thead><tr>${shown.map(headerOf)}</tr></thead>`}
    ${(groups ?? [{ rows }]).map(
      (group, at) => html`<tbody key=${group.key ?? at}>
        ${group.head && html`<tr><th scope="rowgroup" colspan=${shown.length}>${group.head}</th></tr>`}
        ${group.rows.filter(Boolean).flatMap((row, place) => linesOf(row, row.key ?? place, shown))}
      </tbody>`,
    )}
  </table>`;
  return scrolls ? html`<div class="across" tabindex="0" role="region" aria-label=${name}>${table}</div>` : table;
}

const alignmentOf = (column) => (column?.words ? "is-words" : "is-number");

/** @param {Column} column @param {number} at */
function headerOf({ head, title, ...column }, at) {
  if (!head) return html`<td key=${at}></td>`;
  return html`<th key=${at} scope="col" title=${title} class=${at ? alignmentOf(column) : "is-words"}>${head}</th>`;
}

function linesOf({ head, cells, says, current, kind = "", on }, key, columns) {
  const first = head === undefined ? 0 : 1;
  return [
    cells &&
      html`<tr key=${key} ...${on} class="${current ? "is-current" : ""} ${kind}" aria-current=${current ? "true" : undefined}>
        ${first === 1 && html`<th scope="row">${head}</th>`}
        ${cells.map((cell, at) => cellOf(cell, at, alignmentOf(columns[at + first])))}
      </tr>`,
    says && html`<tr key=${`${key} says`} class="table-says ${kind}"><td colspan=${columns.length}>${says}</td></tr>`,
  ];
}

function cellOf(cell, key, alignment) {
  if (cell?.type !== "td") return html`<td key=${key} class=${alignment}>${cell}</td>`;
  return cloneElement(cell, { key, class: `${alignment} ${cell.props.class ?? ""}` });
}
