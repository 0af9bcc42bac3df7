/** The panel “What if”: a list of changes, and the button that computes the run with them. It leaves the rest of the page usable. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { changeNamedBy, changeRefusal, placeInWords } from "../../shared/facts/changes.js";
import { integer } from "../../shared/facts/format.js";
import { mostOf } from "../../shared/log/limits.js";
import { Form } from "../../shared/ui/form.js";
import { Icon } from "../../shared/ui/icons.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { ChangeItem } from "./change-item.js";
import { changesIn } from "./places.js";
import { readChanges } from "./read-changes.js";

export function ChangesPanel({ state, dispatch, controller, client }) {
  const { changing, run, readiness } = state;
  const panel = useRef(/** @type {HTMLElement|null} */ (null));
  const opener = useRef(/** @type {HTMLElement|null} */ (document.activeElement));
  useLayoutEffect(() => /** @type {HTMLElement|null} */ (panel.current?.querySelector("h2"))?.focus(), []);
  const linked = changing?.linked ?? null;
  useLayoutEffect(() => {
    if (linked) dispatch({ type: "changesRead", ...readChanges(linked, run) });
  }, [linked]);
  if (!changing?.open) return null;
  const { changes, past, problem, busy } = changing;
  const close = () => {
    dispatch({ type: "changingClosed" });
    opener.current?.focus();
  };
  const undo = () => dispatch({ type: "undoChange" });
  const onKeyDown = (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "z" && (event.ctrlKey || event.metaKey) && !isTyped(event.target)) undo();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const refusal = changeRefusal(run, readiness.model);
  const ready = readiness.state === "ready";
  return html`<section class="changes popover" role="dialog" aria-labelledby="changes-title" ref=${panel} onKeyDown=${onKeyDown}>
    <div class="line between">
      <h2 id="changes-title" tabindex="-1">${msg`What if`}</h2>
      <span class="line tight">
        <button class="button small" type="button" aria-disabled=${!past.length} title=${msg`Ctrl+Z`} onClick=${undo}>${msg`Undo`}</button>
        <button class="button small" type="button" onClick=${close}>${msg`Close`}</button>
      </span>
    </div>
    <p class="muted small">${msg`The model computes this run again with these changes. Prompt and settings stay the same.`}</p>
    <${Form} class="stack" novalidate onSubmit=${() => controller.change()}>
      ${changing.resumed && html`<${Resumed} dispatch=${dispatch} />`}
      <${List} changes=${changes} problem=${problem} state=${state} dispatch=${dispatch} client=${client} panel=${panel} />
      <${Add} state=${state} dispatch=${dispatch} />
      <div class="changes-run stack tight">
        ${problem && !changeNamedBy(problem) && html`<p class="word-bad small" role="alert">${problem.message}</p>`}
        ${refusal && html`<p class="word-bad small">${refusal}</p>`}
        <p class="line">
        <button class="run-button strong nowrap still" type="submit" disabled=${!changes.length || !ready || Boolean(refusal)} aria-disabled=${busy}>
          <${Icon} name="play" />${busy ? msg`Waiting…` : msg`Run with changes`}
        </button>
        ${!ready && html`<span class="muted small">${msg`This needs the model, which is not ready.`}</span>`}
        </p>
      </div>
    <//>
  </section>`;
}

/** Offers to drop the earlier changes: a viewer who closed the panel may not want them any more. */
function Resumed({ dispatch }) {
  return html`<p class="line small" role="status">
    ${msg`The changes from before are still in the list.`}
    <button class="button small" type="button" onClick=${() => dispatch({ type: "keepLastChange" })}>${msg`Keep only the new one`}</button>
  </p>`;
}

const isTyped = (element) => element.matches("textarea, input:not([type=range])");

function List({ changes, problem, state, dispatch, client, panel }) {
  const named = changeNamedBy(problem);
  const count = useRef(changes.length);
  useEffect(() => {
    // Scrolls to a new change.
    if (changes.length > count.current)
      panel.current?.querySelector("ol")?.lastElementChild?.scrollIntoView({ block: "nearest" });
    count.current = changes.length;
  }, [changes.length]);
  const most = mostOf(state.limits, "change", "changes");
  if (!changes.length)
    return html`<p class="empty-changes box muted">${msg`No change yet. Add one below, or select a head, a layer or a token on the page and add that.`}</p>`;
  return html`<ol class="change-list stack">
      ${changes.map(
        (change, index) => html`<li key=${index}>
          <${ChangeItem}
            index=${index} change=${change} problem=${named?.index === index ? { ...named, message: problem.message } : null} state=${state}
            dispatch=${dispatch} client=${client}
          />
        </li>`,
      )}
    </ol>
    <p class="muted small" role="status">${plural(changes.length, form`${integer(changes.length)} change, of at most ${most}.`, form`${integer(changes.length)} changes, of at most ${most}; made in this order.`)}</p>`;
}

/** Buttons for the places that the page shows now. */
function Add({ state, dispatch }) {
  const { run, selection, changing, limits } = state;
  const most = mostOf(limits, "change", "changes");
  const position = selection.query ?? run.lastQueryOfStep(Math.max(0, state.step));
  const { view } = selection;
  const places = changesIn(run, view, { ...selection, query: Math.max(0, Math.min(position, run.tokens.length - 1)) });
  return html`<div class="stack tight">
    <p class="small muted">${msg`Add what the page shows, switched off:`}</p>
    <p class="row">
      ${places.map((change) => {
        const place = placeInWords(change, run.tokens);
        const add = () => changing.changes.length < most && dispatch({ type: "addChange", change });
        return html`<button class="button small" type="button" key=${place} aria-disabled=${changing.changes.length >= most} onClick=${add}>+ ${place}</button>`;
      })}
    </p>
  </div>`;
}
