/** What is locked, in words, and the way to let go of it. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { counted, percent } from "../../shared/facts/format.js";
import { strongestOn } from "../look-here/heads-worth-seeing.js";
import { lockedInWords, noteOf } from "./lock-words.js";

/** Views that show what is locked. */
const OF_A_CELL = ["block", "head", "pair"];

/** @param {{state: Object, focus: Object, dispatch: Function}} props `focus` as `headFocus` gives it */
export function Lock({ state, focus, dispatch }) {
  const { run, selection, step } = state;
  const { query, key, view } = selection;
  if ((query === null && key === null) || !OF_A_CELL.includes(view)) return null;
  const letGo = () => dispatch({ type: "select", selection: { query: null, key: null } });
  const note = noteOf(run, selection, { newest: focus.newest, step });
  return html`<p class="lock line on-line small">
    <span class="lock-what">locked on <b>${lockedInWords(run, selection)}</b></span>
    <button class="button small" type="button" onClick=${letGo}>let go</button>
    ${note && html`<span class="muted lock-when" title=${note}>${note}</span>`}
    ${view !== "block" && html`<${Strongest} run=${run} cell=${selection} focus=${focus} dispatch=${dispatch} />`}
  </p>`;
}

/** Which head of the whole model links the locked cell the most, and the way there. */
function Strongest({ run, cell, focus, dispatch }) {
  const { query, key } = cell;
  const isThere = query !== null && key !== null && focus.key !== null && query <= focus.newest;
  const top = useMemo(() => (isThere ? strongestOn(run, query, key) : null), [run, isThere, query, key]);
  if (!top) return null;
  const { layer, head, share } = top;
  const all = `Of all ${counted(run.layers * run.heads, "head")} of the model`;
  if (layer === focus.layer && head === focus.head)
    return html`<span class="muted" title=${all}>strongest head: this one</span>`;
  return html`<span class="muted" title=${all}>
    strongest head: <button class="button small" type="button" onClick=${() => dispatch({ type: "select", selection: { layer, head } })}>layer ${layer}, head ${head}</button>, ${percent(share, 0)}
  </span>`;
}
