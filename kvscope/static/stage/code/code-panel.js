/** The computation in PyTorch, on the Stage: of the selected step and layer. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { CodePanel as Panel } from "../../shared/code/code-panel.js";
import { readSource } from "../../shared/code/source.js";
import { integer } from "../../shared/facts/format.js";
import { modelFor } from "../../shared/facts/saved-session.js";
import { useFetched } from "../../shared/loading/use-fetched.js";
import { namesUnder } from "../../shared/state/lit.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { whenReached } from "../state/layer-sweep.js";
import { useModelValues } from "../state/use-model-values.js";
import { CallTree } from "./call-tree.js";
import { passOf, shapesOf } from "./shapes.js";
import { OF_VIEW, viewWith } from "./views.js";

export { readSource };

/** Time in which a view is loaded and rendered, in ms. */
const LIT_MS = 350;

export function CodePanel({ state: now, dispatch, client }) {
  const { value: source, failed } = useFetched(readSource);
  const state = whenReached(now);
  const { run, step } = state;
  const [comparing, setComparing] = useState(false);
  const [calling, setCalling] = useState(false);
  const other = otherStep(run, step);
  const steps = useSteps(state, client, { source, other: comparing ? other : null });
  const find = (found) => {
    dispatch({ type: "lit", names: found });
    const view = viewWith(found, now.selection.view);
    if (view !== now.selection.view) dispatch({ type: "select", selection: { view } });
    // The picture outlines them when it is rendered.
    setTimeout(() => bringLitIntoSight(found), LIT_MS);
  };
  const tools = html`${
    other !== null &&
    html`<button type="button" class="button small" aria-pressed=${comparing} onClick=${() => setComparing(!comparing)}>
      ${other === 0 ? msg`Compare with prefill` : msg`Compare with decode`}
    </button>`
  }${
    modelFor(run, state.readiness) === "ready" &&
    html`<button type="button" class="button small" aria-pressed=${calling} onClick=${() => setCalling(!calling)}>${msg`Calls`}</button>`
  }`;
  return html`<${Panel}
    source=${source} failed=${failed} steps=${steps} names=${shownNames(now)} home=${OF_VIEW[now.selection.view] ?? OF_VIEW.model}
    what=${html`<${What} run=${run} step=${step} layer=${state.selection.layer} answer=${steps[0]} />`} tools=${tools}
    beside=${calling ? (to) => html`<${CallTree} run=${run} client=${client} ...${to} />` : null}
    onFind=${find} onClose=${() => dispatch({ type: "code", open: false })}
  />`;
}

/** Scrolls the picture until the first of the lit tensors is in sight. */
function bringLitIntoSight(names) {
  const named = names.map((name) => `.view [data-names~="${name}"]`);
  document.querySelector([".block-outline.is-lit", ...named].join())?.scrollIntoView({ block: "nearest" });
}

/** @returns {number|null} a step of the other phase: prefill, or the first decode step */
function otherStep({ steps }, step) {
  if (step > 0) return 0;
  return steps.length > 1 ? 1 : null;
}

/** Fetches what the lines computed in the step, and in `other`, at the selected layer; nothing for a run that is still growing. */
function useSteps(state, client, { source, other }) {
  const { run, step, selection, following } = state;
  const wanted = (at) =>
    following || !source || at === null || !run.steps.length
      ? null
      : { run: run.id, step: at, layer: selection.layer, source: source.version };
  const shown = useModelValues(state, client.ask("code"), wanted(Math.max(0, step)), "code");
  const beside = useModelValues(state, client.ask("code"), wanted(other), "code");
  const logged = useLogged(run, Math.max(0, step), source);
  const loggedBeside = useLogged(run, other, source);
  return [
    { step, ...withLogged(shown, logged) },
    ...(other === null ? [] : [{ step: other, ...withLogged(beside, loggedBeside) }]),
  ];
}

/** The shapes of a step from the log alone; null if the log does not have them. */
function useLogged(run, step, source) {
  const data = run.steps[step]?.data;
  return useMemo(() => {
    const pass = source && data ? passOf(run, step) : null;
    return pass && shapesOf(source, run.open.model, pass);
  }, [run.open, data, source]);
}

/** Without the model, the shapes that the log has. */
function withLogged(answer, logged) {
  return answer.values || ["idle", "loading"].includes(answer.status) ? answer : { ...answer, values: logged };
}

/** The names whose lines are marked: those at the pointer, else those that are lit. */
function shownNames(state) {
  const under = namesUnder(state);
  return under.length ? under : state.lit;
}

function What({ run, step, layer, answer }) {
  if (!run.steps.length) return msg`Shapes appear with the first step.`;
  const place = msg`layer ${layer}, step ${step}`;
  if (answer.status === "loading") return html`${place} · …`;
  if (answer.status === "idle") return html`${place} · ${msg`shapes appear when the page no longer follows the run`}`;
  if (!answer.values)
    return html`${place} · ${answer.problem?.message ?? msg`shapes need the model, which is not loaded`}`;
  const { rows, passes, ran } = answer.values;
  const count = plural(rows, form`${integer(rows)} row`, form`${integer(rows)} rows`);
  if (!ran) return html`${place} · ${count} · ${msg`The shapes are computed from the sizes in the log.`}`;
  const pass = passes > 1 ? ` · ${msg`the last of ${passes} passes`}` : "";
  return html`${place} · ${count}${pass} · ${ranBy(run.steps[step].data.computed_by)}`;
}

/** What computed the step in the run, and where the shapes are from. */
function ranBy(by) {
  if (by === "native")
    return msg`In the run, native code computed the whole pass in one call. The lines ran again for the shapes.`;
  if (by === "graph")
    return msg`In the run, a CUDA graph recorded from these lines was replayed. They ran again for the shapes.`;
  return msg`The lines ran again for the shapes.`;
}
