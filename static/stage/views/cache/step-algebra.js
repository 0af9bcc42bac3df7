/**
 * One decode step: eight operations with what each saves and how far both ways differ, and K and V of one head as cached
 * beside computed again.
 */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { kvHeadOf } from "../../../shared/facts/attention.js";
import { counted, integer, quoted, short } from "../../../shared/facts/format.js";
import { small } from "../../../shared/facts/small-numbers.js";
import { useModelValues } from "../../../shared/loading/use-model-values.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { Badge } from "../../../shared/ui/badge.js";
import { algebraFacts } from "./algebra.js";
import { passFlops } from "./flops.js";
import { differencesOf, stepOperations } from "./operations.js";
import { Twice } from "./twice.js";

export function StepAlgebra({ state, focus, client, dispatch }) {
  const { run, step } = state;
  const { model } = run.open;
  const { rows, firstQuery } = run.steps[step];
  const keys = firstQuery + rows;
  const operations = useMemo(() => stepOperations(model, { rows, keys }), [model, rows, keys]);
  if (step === 0)
    return html`<p class="sheet-say">
      ${
        run.reused
          ? `This is prefill: K and V of the first ${counted(run.reused, "token")} are read from the cache, where an earlier run left them. ${counted(rows, "row")} ${rows === 1 ? "is" : "are"} computed, and kept too.`
          : "This is prefill: there is no cache yet, so nothing can be reused. Every row is computed once, and its K and V are kept."
      }${" "}
      ${
        run.steps.length > 1 &&
        html`<button class="button small" type="button" onClick=${() => dispatch({ type: "seek", step: 1 })}>
          Go to step 1, the first with a cache
        </button>`
      }
    </p>`;
  return html`<p class="sheet-say">
      Step ${step} feeds ${quoted(run.tokens[firstQuery])}. ${say(firstQuery)}
    </p>
    <${Operations} state=${state} focus=${focus} client=${client} operations=${operations} rows=${rows} keys=${keys} />
    <${Check} state=${state} focus=${focus} client=${client} />`;
}

function say(old) {
  const kept = `Of the ${counted(old, "older row")}, K and V are all that anyone asks for again, and both lie in the cache.`;
  return `${kept} Everything else about them was used in its own step and is gone.`;
}

const OLD_ROWS = {
  reused: { text: (old) => `${old} reused from the cache`, tone: "is-reused" },
  there: { text: (old) => `${old} lie there already`, tone: "is-reused" },
  read: { text: (old) => `reads all ${old} from the cache`, tone: "is-reused" },
  unneeded: { text: (old) => `${old} not needed again`, tone: "is-unneeded" },
};

function Operations({ state, focus, client, operations, rows, keys }) {
  const { run, step, playing } = state;
  const { model } = run.open;
  const { layer } = focus;
  const most = state.limits.compared_positions;
  const wanted = !playing && !focus.preview && keys <= most ? { run: run.id, step, layer } : null;
  const both = useModelValues(state, client.ask("operations"), wanted, "operations");
  const told = both.values?.operations ?? [];
  const old = keys - rows;
  const ours = passFlops(model, rows, keys);
  const engine = run.steps[step].data.flops;
  const sum = (name) => operations.reduce((total, one) => total + one[name], 0);
  const flops = (value) => (value ? short(value, "") : "–");
  return html`<div class="sheet-wide across" tabindex="0" role="region" aria-label="Operations of the step">
      <table class="numbers operations" aria-label="Eight operations of one layer">
        <caption>Layer ${layer}: shapes and multiply-adds, and how far both ways differ <${Badge} origin="measured" /></caption>
        <thead>
          <tr>
            <th scope="col">operation</th><th scope="col">shape now</th><th scope="col">without a cache</th>
            <th scope="col" class="is-left">the ${counted(old, "older row")}</th><th scope="col">they differ by</th>
            <th scope="col">the newest by</th><th scope="col">FLOP now</th><th scope="col">without</th>
          </tr>
        </thead>
        <tbody>
          ${operations.map(
            ({ id, name, now, without, old: fate, points, flops: flopsNow, flopsWithout }, i) => html`<tr key=${id}>
              <th scope="row"><i class="operation-number muted">${i + 1}</i> ${name}</th>
              <td class="word-computed">${now}</td><td>${without}</td>
              <td class=${`is-words is-left ${OLD_ROWS[fate].tone}`}>
                <i class="old-bar" style=${`--old:${((100 * old) / keys).toFixed(1)}%`} aria-hidden="true"></i>${OLD_ROWS[fate].text(old)}
              </td>
              <${Differ} differences=${differencesOf(told, points)} />
              <td>${flops(flopsNow)}</td><td>${flops(flopsWithout)}</td>
            </tr>`,
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">one layer</th><td></td><td></td><td></td><td></td><td></td><td>${flops(sum("flops"))}</td><td>${flops(sum("flopsWithout"))}</td>
          </tr>
          <tr>
            <th scope="row">× ${model.layers} layers + LM head</th><td></td><td></td><td></td><td></td><td></td>
            <td><b>${flops(ours)}</b></td><td><b>${flops(passFlops(model, keys, keys))}</b></td>
          </tr>
        </tfoot>
      </table>
    </div>
    <p class="sheet-note muted small" role="status">${keys > most ? `Steps of at most ${counted(most, "position")} are run both ways here: others wait meanwhile.` : bothWays({ both, told, old, keys, layer })}</p>
    <p class="sheet-note muted small">
      Shapes are rows × numbers; scores and mix have one matrix per head.
      ${
        ours === engine
          ? html` <span class="word-output">✓</span> The engine counted the same: ${integer(engine)} FLOP in this step.`
          : html` The engine counted ${integer(engine)} FLOP in this step, this table ${integer(ours)}.`
      }
      ${" "}Norms, softmax and the ${ACTIVATIONS[model.activation].name} are a few operations per number and not counted.
    </p>`;
}

/** How far what the older rows and the newest one gave differs with the cache and without it. */
function Differ({ differences }) {
  const cell = (tone, difference) =>
    html`<td class=${tone} title=${difference && `of numbers up to ${small(difference.size)}`}>${difference ? small(difference.largest) : "–"}</td>`;
  return html`${cell("word-cached", differences?.old)}${cell("word-computed", differences?.new)}`;
}

function bothWays({ both, told, old, keys, layer }) {
  if (!told.length) return WAITING[both.status] ?? both.problem.message;
  const found = differencesOf(
    told,
    told.map(({ name }) => name),
  );
  const rounded = told.every((one) => [one.old, one.new].every(({ largest, size }) => largest <= ROUNDING * size));
  const older =
    found.old.largest === 0
      ? "are the same to the last bit with the newest token and without it"
      : `differ by at most ${small(found.old.largest)} with the newest token and without it`;
  const how = rounded ? "rounding, because a pass over many rows adds in another order" : "more than rounding";
  return `Layer ${layer} was really run both ways: the newest row alone on the cache, and all ${counted(keys, "row")} without one. The ${counted(old, "older row")} ${older}; the newest row differs by at most ${small(found.new.largest)}: ${how}.`;
}

const WAITING = {
  none: "To compute a step a second time takes the model, which this server does not run.",
  unavailable: "Possible when the model is loaded.",
  idle: "Pause to compare the cached numbers with computed ones.",
  loading: "Computing the step again from the tokens, without the cache…",
};

function Check({ state, focus, client }) {
  const { run, step, playing } = state;
  const { layer, head } = focus;
  const wanted = !playing && !focus.preview ? { run: run.id, step, layer, head } : null;
  const { status, values, problem } = useModelValues(state, client.ask("algebra"), wanted, "algebra");
  const facts = useMemo(() => (values ? algebraFacts(values) : null), [values]);
  const kvHead = kvHeadOf(run, head);
  return html`<h4>Is the cached value the right one? Layer ${layer}, head ${head} (KV head ${kvHead})</h4>
    ${
      facts
        ? html`<p class="sheet-say" role="status">${verdict(facts)} <${Badge} origin="measured" /></p>
          <${Twice} run=${run} values=${values} />`
        : html`<p class="sheet-note muted small">${WAITING[status] ?? problem.message}</p>`
    }`;
}

/** A difference below this share of the largest value is rounding: float32 keeps about 1 part in 10 million. */
const ROUNDING = 1e-5;

function rounding(differences) {
  if (differences.some(({ largest, size }) => largest > ROUNDING * size)) return "";
  return ": float32 rounding, because a pass over many rows adds in another order";
}

function verdict({ keys, headDim, k, v, output }) {
  const numbers = integer(keys * headDim);
  const exact = k.largest === 0 && v.largest === 0;
  const found = exact
    ? `all ${numbers} numbers of K and all ${numbers} of V are the same to the last bit`
    : `of ${numbers} numbers each, K differs by at most ${small(k.largest)} and V by at most ${small(v.largest)} ` +
      `(the largest are ${small(k.size)} and ${small(v.size)})${rounding([k, v])}`;
  const made = `Computed again from the ${counted(keys, "token")} in one pass, ${found}.`;
  return `${made} The head's output differs by ${small(output.largest)}.`;
}
