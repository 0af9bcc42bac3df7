/**
 * The code that just ran: the installed source of the layers, the cache and the choice, with the shapes of this step beside its lines.
 * A name in the code lights its tensor in the picture, and what the pointer is at in the picture lights its lines.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { modelFor } from "../../shared/facts/saved-session.js";
import { useModelValues } from "../../shared/loading/use-model-values.js";
import { namesIn, namesUnder } from "../../shared/state/lit.js";
import { whenReached } from "../../shared/state/settled.js";
import { ZOOMS } from "../../shared/state/views.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { CallTree } from "./call-tree.js";
import { CodeText } from "./code-text.js";
import { functionAt, linesOf, OF_VIEW, placeOf } from "./places.js";
import { readSource } from "./source.js";

export { readSource };

/** Time in which a view is loaded and rendered, in ms. */
const LIT_MS = 350;
/** Names that the model view shows; those of a block are in the block view. */
const IN_MODEL = ["tokens", "embedded", "final", "logits", "choice"];

export function CodePanel({ state: now, dispatch, client }) {
  const { source, failed } = useSource();
  const files = source?.files ?? null;
  const state = whenReached(now);
  const { run, step } = state;
  const [comparing, setComparing] = useState(false);
  const [calling, setCalling] = useState(false);
  const other = otherStep(run, step);
  const steps = useSteps(state, client, { source, other: comparing ? other : null });
  const ran = steps[0].values?.ran ?? null;
  const [place, setPlace] = usePlace(files, now, ran);
  const paths = useMemo(() => (files ?? []).map(({ path }) => path), [files]);
  const file = files?.find(({ path }) => path === place?.path);
  const names = shownNames(now);
  const find = (found) => {
    dispatch({ type: "lit", names: found });
    const view = viewWith(found, now.selection.view);
    if (view !== now.selection.view) dispatch({ type: "select", selection: { view } });
    // The picture outlines them when it is rendered.
    setTimeout(() => bringLitIntoSight(found), LIT_MS);
  };
  return html`<section class="code stack tight" aria-label=${msg`The code that just ran`} data-points>
    <header class="row between">
      <h2 class="still">${msg`The code that just ran`}</h2>
      <${Files} files=${files ?? []} shown=${place?.path} onOpen=${(path) => setPlace({ path, line: 1 })} />
      <p class="code-what muted small"><${What} run=${run} step=${step} layer=${state.selection.layer} answer=${steps[0]} /></p>
      <span class="line push">
        ${
          other !== null &&
          html`<button type="button" class="button small" aria-pressed=${comparing} onClick=${() => setComparing(!comparing)}>
            ${other === 0 ? msg`Compare with prefill` : msg`Compare with decode`}
          </button>`
        }
        ${
          modelFor(run, state.readiness) === "ready" &&
          html`<button type="button" class="button small" aria-pressed=${calling} onClick=${() => setCalling(!calling)}>${msg`Calls`}</button>`
        }
        <button type="button" class="button small" onClick=${() => dispatch({ type: "code", open: false })}>${msg`Close`}</button>
      </span>
    </header>
    ${failed && html`<p role="alert">${msg`The code could not be loaded: the server does not respond.`}</p>`}
    ${
      file &&
      html`<div class="code-body" data-calls=${calling}>
        ${calling && html`<${CallTree} run=${run} paths=${paths} client=${client} onOpen=${(to) => setPlace({ ...to, top: true })} />`}
        <${CodeText} file=${file} place=${place} steps=${steps} lines=${linesOf(file, names)} names=${names} onFind=${find} />
      </div>`
    }
  </section>`;
}

/** Scrolls the picture until the first of the lit tensors is in sight. */
function bringLitIntoSight(names) {
  const named = names.map((name) => `.view [data-names~="${name}"]`);
  document.querySelector([".block-outline.is-lit", ...named].join())?.scrollIntoView({ block: "nearest" });
}

function useSource() {
  const [read, setRead] = useState({ source: null, failed: false });
  useEffect(() => {
    readSource().then(
      (source) => setRead({ source, failed: false }),
      () => setRead({ source: null, failed: true }),
    );
  }, []);
  return read;
}

/** @returns {number|null} a step of the other phase: prefill, or the first decode step */
function otherStep({ steps }, step) {
  if (step > 0) return 0;
  return steps.length > 1 ? 1 : null;
}

/** What the lines of the step, and of `other`, computed at the selected layer. None is requested for a run that is still writing. */
function useSteps(state, client, { source, other }) {
  const { run, step, selection, following } = state;
  const wanted = (at) =>
    following || !source || at === null || !run.steps.length
      ? null
      : { run: run.id, step: at, layer: selection.layer, source: source.version };
  const shown = useModelValues(state, client.ask("code"), wanted(Math.max(0, step)), "code");
  const beside = useModelValues(state, client.ask("code"), wanted(other), "code");
  return [{ step, ...shown }, ...(other === null ? [] : [{ step: other, ...beside }])];
}

/** The names whose lines are marked: those at the pointer, else those that are lit. */
function shownNames(state) {
  const under = namesUnder(state);
  return under.length ? under : state.lit;
}

/** The shown file, and the line in sight: of the view, then of whatever is pointed at or lit. */
function usePlace(files, state, ran) {
  const { view } = state.selection;
  const [place, setPlace] = useState(null);
  useEffect(() => {
    const found = files && functionAt(files, OF_VIEW[view] ?? OF_VIEW.model);
    if (found) setPlace({ path: found.path, line: found.first, top: true });
  }, [files, view]);
  const names = shownNames(state).join(" ");
  useEffect(() => {
    const found = files && names && placeOf(files, namesIn(names), { shown: place?.path, ran });
    if (found) setPlace(found);
  }, [files, names]);
  return [place, setPlace];
}

/** The view that shows these tensors; the open one if it may. */
function viewWith(names, view) {
  if (names.some((name) => IN_MODEL.includes(name))) return "model";
  return view === "model" || !ZOOMS.includes(view) || names.length ? "block" : view;
}

function Files({ files, shown, onOpen }) {
  return html`<span class="choice" role="group" aria-label=${msg`Files`}>
    ${files.map(({ path }) => html`<button type="button" class="mono small" aria-pressed=${path === shown} title=${path} onClick=${() => onOpen(path)}>${path.split("/").at(-1)}</button>`)}
  </span>`;
}

function What({ run, step, layer, answer }) {
  if (!run.steps.length) return msg`Shapes appear with the first step.`;
  const place = msg`layer ${layer}, step ${step}`;
  if (answer.status === "loading") return html`${place} · …`;
  if (!answer.values) return html`${place} · ${msg`shapes need the model, which is not loaded`}`;
  const { rows, passes } = answer.values;
  const count = plural(rows, form`${integer(rows)} row`, form`${integer(rows)} rows`);
  const pass = passes > 1 ? ` · ${msg`the last of ${passes} passes`}` : "";
  return html`${place} · ${count}${pass} · ${ranBy(run.steps[step].data.computed_by)}`;
}

/** What computed the step in the run, and where the shapes are from. Older logs do not say it. */
function ranBy(by) {
  if (by === "native")
    return msg`In the run, native code did the work of a layer’s lines in one call. The lines ran again for the shapes.`;
  if (by === "graph") return msg`In the run, a CUDA graph replayed these lines. They ran again for the shapes.`;
  return by
    ? msg`The lines ran again for the shapes.`
    : msg`The lines ran for the shapes; the log does not say whether they computed the run.`;
}
