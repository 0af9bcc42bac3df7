/** The locked cell in words, and a button that unlocks it. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { integer, percent, quoted } from "../../shared/facts/format.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { strongestOn } from "../look-here/heads-worth-seeing.js";

/** Views that show the locked cell. */
const CELL_VIEWS = ["block", "head", "pair"];

/** @param {{state: Object, focus: Object, dispatch: Function}} props `focus` from `headFocus` */
export function Lock({ state, focus, dispatch }) {
  const { run, selection, step } = state;
  const { query, key, view } = selection;
  if ((query === null && key === null) || !CELL_VIEWS.includes(view)) return null;
  const unlock = () => dispatch({ type: "select", selection: { query: null, key: null } });
  const locked = lockedInWords(run, selection);
  const note = noteOf(run, selection, { newest: focus.newest, step });
  return html`<p class="lock line on-line small">
    <span class="lock-what">${nodes`Locked: ${html`<b>${locked}</b>`}`}</span>
    <button class="button small" type="button" onClick=${unlock}>${msg`Unlock`}</button>
    ${note && html`<span class="muted lock-when" title=${note}>${note}</span>`}
    ${view !== "block" && html`<${Strongest} run=${run} cell=${selection} focus=${focus} dispatch=${dispatch} />`}
  </p>`;
}

/** The head with the largest weight on the locked cell, of the whole model, and a button to it. */
function Strongest({ run, cell, focus, dispatch }) {
  const { query, key } = cell;
  const isThere = query !== null && key !== null && focus.key !== null && query <= focus.newest;
  const top = useMemo(() => (isThere ? strongestOn(run, query, key) : null), [run, isThere, query, key]);
  if (!top) return null;
  const { layer, head, share } = top;
  const heads = integer(run.layers * run.heads);
  const all = plural(
    run.layers * run.heads,
    form`Of all ${heads} head of the model`,
    form`Of all ${heads} heads of the model`,
  );
  if (layer === focus.layer && head === focus.head)
    return html`<span class="muted" title=${all}>${msg`largest weight here: this head`}</span>`;
  const weight = percent(share, 0);
  const go = () => dispatch({ type: "select", selection: { layer, head } });
  const button = html`<button class="button small" type="button" onClick=${go}>${msg`layer ${layer}, head ${head}`}</button>`;
  return html`<span class="muted" title=${all}>${nodes`largest weight here: ${button}, ${weight}`}</span>`;
}

/** @returns {string} “it” → “animal”; of a query alone “it” */
export function lockedInWords(run, { query, key }) {
  const name = (position) => quoted(run.tokens[position], 12);
  if (query === null) {
    const token = name(key);
    return msg`the newest token → ${token}`;
  }
  return key === null ? name(query) : `${name(query)} → ${name(key)}`;
}

/**
 * @param {Object} run
 * @param {{layer: number, query: number|null, key: number|null}} locked
 * @param {{newest: number, step: number}} sight the last row and the step that are shown
 * @returns {string|null} of which step the locked cell is, if not of the shown one; or why it is not shown
 */
export function noteOf(run, locked, sight) {
  const { layer, query, key } = locked;
  const { newest, step } = sight;
  const last = Math.max(query ?? 0, key ?? 0);
  if (last > newest) {
    const [token, later] = [quoted(run.tokens[last], 12), run.stepOfQuery(last)];
    return msg`${token} is computed in step ${later}`;
  }
  if (key !== null && key < run.firstKey(layer, query ?? newest))
    return msg`outside the window of this local layer; the strongest key is shown instead`;
  const computedIn = query === null ? step : run.stepOfQuery(query);
  if (computedIn === step) return null;
  return msg`computed in step ${computedIn}; later steps read only its K and V`;
}
