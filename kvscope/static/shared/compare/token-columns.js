/** The tokens of two runs, column by column: A above B. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Token } from "../ui/token.js";
import { walkButtons } from "../ui/walk-buttons.js";
import { msg } from "../words/msg.js";

/** The most columns shown; of longer runs, those around the current one. */
const MOST_COLUMNS = 240;
const LABEL_CHARS = 18;

/**
 * @param {Object} props
 * @param {import("./alignment.js").Column[]} props.columns
 * @param {Object} props.a run
 * @param {Object} props.b run
 * @param {number|null} props.current index of the current column
 * @param {number|null} [props.parting] the first that differs
 * @param {string} props.label
 * @param {(column: number) => (() => void)|null} [props.onPick] null: the column cannot be selected
 * @param {(column: number, side: "a"|"b") => {style: string, title: string}|null} [props.shade] the background of a cell
 */
export function TokenColumns({ columns, a, b, current, parting = null, label, onPick = noPick, shade = noShade }) {
  const [from, to] = windowOf(columns.length, current ?? 0);
  const box = useRef(/** @type {HTMLElement|null} */ (null));
  useLayoutEffect(() => keepInSight(box.current), [current]);
  return html`<div class="compare-tokens scrolls" ref=${box} role="group" tabindex="0" aria-label=${label} onKeyDown=${walkButtons}><ol>
    ${from > 0 && html`<li class="muted small">${msg`${from} earlier columns`}</li>`}
    ${columns.slice(from, to).map((column, i) => {
      const at = from + i;
      const pick = onPick(at);
      const cells = html`<${Cell} run=${a} position=${column.a} column=${at} side="a" shade=${shade} /><${Cell} run=${b} position=${column.b} column=${at} side="b" shade=${shade} />`;
      const state = `compare-column${column.same ? "" : " is-different"}${at === parting ? " is-parting" : ""}`;
      return html`<li key=${at} class=${state} title=${at === parting ? msg`The first difference` : null}>
        ${
          pick
            ? html`<button type="button" tabindex="-1" aria-current=${at === current ? "true" : null} onClick=${pick}>${cells}</button>`
            : html`<span aria-current=${at === current ? "true" : null}>${cells}</span>`
        }
      </li>`;
    })}
    ${to < columns.length && html`<li class="muted small">${msg`${columns.length - to} later columns`}</li>`}
  </ol></div>`;
}

/** Scrolls the box, but not the page, so that the current column is visible. */
function keepInSight(box) {
  const [outer, inner] = [box, box.querySelector("[aria-current]")].map((each) => each?.getBoundingClientRect());
  if (!inner) return;
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
  if (inner.left < outer.left || inner.right > outer.right)
    box.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}

const noPick = () => null;
const noShade = () => null;

function windowOf(count, current) {
  const from = Math.max(0, Math.min(current - MOST_COLUMNS / 2, count - MOST_COLUMNS));
  return [from, Math.min(count, from + MOST_COLUMNS)];
}

function Cell({ run, position, column, side, shade }) {
  if (position === null) return html`<span class="compare-cell is-none" role="img" aria-label=${msg`no token`}></span>`;
  const { style = null, title = null } = shade(column, side) ?? {};
  const role = position < run.promptLength ? "is-of-prompt" : "is-of-answer";
  return html`<span class=${`compare-cell ${role}`} data-side=${side} style=${style} title=${title}><${Token} token=${run.tokens[position]} limit=${LABEL_CHARS} /></span>`;
}
