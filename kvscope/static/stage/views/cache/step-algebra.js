/**
 * One decode step: the cost of eight operations with the cache and without it and the difference between their results; and
 * the matrices of one head and its layer.
 */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { kvHeadOf } from "../../../shared/facts/attention.js";
import { integer, quoted, short } from "../../../shared/facts/format.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Table } from "../../../shared/ui/table.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { small } from "../../facts/small-numbers.js";
import { useModelValues } from "../../state/use-model-values.js";
import { algebraFacts, readableOnly } from "./algebra.js";
import { passFlops } from "./flops.js";
import { differencesOf, stepOperations } from "./operations.js";
import { StepMatrices } from "./step-matrices.js";
import { NEEDS_MODEL } from "./twin-control.js";

export function StepAlgebra({ state, focus, client, dispatch }) {
  const { run, step } = state;
  const { model } = run.open;
  const { rows, firstQuery } = run.steps[step];
  const keys = firstQuery + rows;
  const sparse = run.experts(focus.layer, keys - 1).length > 0;
  const held = keys - run.firstHeld(focus.layer, step);
  const operations = useMemo(
    () => stepOperations(model, { rows, keys, sparse, held }),
    [model, rows, keys, sparse, held],
  );
  if (step === 0)
    return html`<p class="sheet-say">
      ${
        run.reused
          ? msg`This is prefill. An earlier run computed ${run.reused} of its rows: their K and V are read from the cache. Rows computed and cached now: ${rows}.`
          : msg`This is prefill. The cache is empty, so every row is computed once, and its K and V are cached.`
      }${" "}
      ${
        run.steps.length > 1 &&
        html`<button class="button small" type="button" onClick=${() => dispatch({ type: "seek", step: 1 })}>
          ${msg`Go to step 1, the first decode step`}
        </button>`
      }
    </p>`;
  return html`<p class="sheet-say">
      ${msg`The input of step ${step} is ${quoted(run.tokens[firstQuery])}. The step needs only K and V of the earlier rows, and both are in the cache. All other values of those rows were used in an earlier step and dropped.`}
    </p>
    <${Operations} state=${state} focus=${focus} client=${client} operations=${operations} rows=${rows} keys=${keys} />
    <${Check} state=${state} focus=${focus} client=${client} />`;
}

/** By `old` of an operation: what happens to the rows before the newest. */
const EARLIER_ROWS = {
  reused: { text: (old) => msg`${old} reused from the cache`, tone: "is-reused" },
  there: { text: (old) => msg`${old} already in the cache`, tone: "is-reused" },
  read: { text: (old) => msg`all ${old} read from the cache`, tone: "is-reused" },
  unneeded: { text: (old) => msg`${old} not needed again`, tone: "is-unneeded" },
};

/** What a local layer does with rows outside its window; "" for other rows and layers. */
function outsideText(run, layer, query) {
  const outside = run.firstKey(layer, query);
  if (!outside) return "";
  return plural(
    outside,
    form`Layer ${layer} is local: of the earlier rows, ${integer(outside)} is outside its window and gets no weight. The engine multiplies with it nevertheless, and masks the result.`,
    form`Layer ${layer} is local: of the earlier rows, ${integer(outside)} are outside its window and get no weight. The engine multiplies with as many masked positions nevertheless.`,
  );
}

function Operations({ state, focus, client, operations, rows, keys }) {
  const { run, step, playing } = state;
  const { model } = run.open;
  const { layer } = focus;
  const most = state.limits.compared_positions;
  const request = !playing && !focus.preview && keys <= most ? { run: run.id, step, layer } : null;
  const both = useModelValues(state, client.ask("operations"), request, "operations");
  const differences = both.values?.operations ?? [];
  const old = keys - rows;
  // A local layer reads only those in its window.
  const read = old - run.firstKey(layer, keys - 1);
  const sparse = Array.from({ length: run.layers }, (_, each) => run.experts(each, keys - 1).length > 0).filter(
    Boolean,
  ).length;
  const ours = passFlops(model, rows, keys, sparse);
  const engine = run.steps[step].data.flops;
  const sum = (name) => operations.reduce((total, one) => total + one[name], 0);
  const flops = (value) => (value ? short(value, "") : "–");
  return html`<${Table} name=${msg`Eight operations of one layer`} kind="operations"
      caption=${html`${msg`Layer ${layer}, with the cache and without one: shapes, FLOP (additions and multiplications), and the difference between the results`} <${Badge} origin="measured" />`}
      columns=${[
        { head: msg`operation` },
        { head: msg`shape now` },
        { head: msg`without a cache` },
        { head: plural(old, form`${old} earlier row`, form`${old} earlier rows`), words: true },
        { head: msg`difference, earlier rows` },
        { head: msg`difference, newest row` },
        { head: msg`FLOP now` },
        { head: msg`without` },
      ]}
      rows=${[
        ...operations.map(({ id, name, now, without, old: fate, points, flops: flopsNow, flopsWithout }, i) => {
          const difference = differencesOf(differences, points);
          return {
            key: id,
            head: html`<i class="operation-number muted">${i + 1}</i> ${name}`,
            cells: [
              html`<td class="word-computed">${now}</td>`,
              without,
              html`<td class=${EARLIER_ROWS[fate].tone}><i class="old-bar" style=${`--old:${((100 * old) / keys).toFixed(1)}%`} aria-hidden="true"></i>${EARLIER_ROWS[fate].text(fate === "unneeded" ? old : read)}</td>`,
              differenceCell(difference?.old, "word-cached"),
              differenceCell(difference?.new, "word-computed"),
              flops(flopsNow),
              flops(flopsWithout),
            ],
          };
        }),
        { head: msg`one layer`, cells: [...NO_SUM, flops(sum("flops")), flops(sum("flopsWithout"))] },
        {
          head: msg`× ${model.layers} layers + LM head`,
          cells: [...NO_SUM, flops(ours), flops(passFlops(model, keys, keys, sparse))],
          kind: "is-sum",
        },
      ]}
    />
    <p class="sheet-note muted small" role="status">${keys > most ? msg`Only steps of at most ${most} positions are computed both ways here, because other requests wait meanwhile.` : bothWays({ both, differences, keys, layer })}</p>
    <p class="sheet-note muted small">
      ${msg`Shapes are rows × numbers per row; operations 5 and 6 have one such matrix per head.`}${" "}
      ${outsideText(run, layer, keys - 1)}
      ${
        ours === engine
          ? html` <span class="word-output">✓</span> ${msg`The engine counted the same: ${integer(engine)} FLOP in this step.`}`
          : ` ${msg`The engine counted ${integer(engine)} FLOP in this step; this table has ${integer(ours)}.`}`
      }
      ${" "}${msg`Norms, softmax and the MLP’s ${ACTIVATIONS[model.activation].name} function are not counted, because they take only a few operations per number.`}
    </p>`;
}

/** The cells of a sum below the shapes and the differences. */
const NO_SUM = ["", "", "", "", ""];

/** The largest difference between the results with the cache and without it. */
function differenceCell(difference, tone) {
  if (!difference) return "–";
  return html`<td class=${tone} title=${msg`largest value: ${small(difference.size)}`}>${small(difference.largest)}</td>`;
}

function bothWays({ both, differences, keys, layer }) {
  if (!differences.length) return WAITING[both.status] ?? both.problem.message;
  const names = differences.map(({ name }) => name);
  const largest = differencesOf(differences, names);
  const rounded = differences.every((one) => [one.old, one.new].every(isRounding));
  const [earlier, newest] = [largest.old, largest.new].map((difference) => small(difference.largest));
  return [
    msg`Layer ${layer} was computed both ways: only the newest row with the cache, and all ${keys} rows without one.`,
    largest.old.largest === 0
      ? msg`The earlier rows are the same to the last bit with and without the newest token.`
      : msg`The earlier rows differ by at most ${earlier} with and without the newest token.`,
    msg`The newest row differs by at most ${newest}.`,
    rounded ? ROUNDED : msg`This is more than rounding.`,
  ].join(" ");
}

const ROUNDED = msg`This is float32 rounding: a pass over many rows adds in another order.`;

const WAITING = {
  none: msg`This comparison needs the model of the run, which this server does not run.`,
  unavailable: NEEDS_MODEL,
  idle: msg`Pause to compare the cached numbers with computed ones.`,
  loading: msg`Computing the step again without the cache…`,
};

function Check({ state, focus, client }) {
  const { run, step, playing } = state;
  const { layer, head } = focus;
  const request = !playing && !focus.preview ? { run: run.id, step, layer, head } : null;
  const { status, values: all, problem } = useModelValues(state, client.ask("algebra"), request, "algebra");
  const first = run.firstKey(layer, run.lastQueryOfStep(step));
  const facts = useMemo(() => (all ? algebraFacts(readableOnly(all, first)) : null), [all, first]);
  const kvHead = kvHeadOf(run, head);
  return html`<h4>${msg`The whole computation in layer ${layer}, head ${head}, which reads the K and V of KV head ${kvHead}`}</h4>
    ${
      facts
        ? html`<p class="sheet-say" role="status">${verdict(facts)} <${Badge} origin="measured" /></p>
          <${StepMatrices} run=${run} layer=${layer} values=${all} />`
        : html`<p class="sheet-note muted small">${WAITING[status] ?? problem.message}</p>`
    }`;
}

/** A difference below this share of the largest value is rounding: float32 has about 1 part in 10 million. */
const ROUNDING = 1e-5;

function isRounding({ largest, size }) {
  return largest <= ROUNDING * size;
}

function verdict({ keys, headDim, k, v, output }) {
  const numbers = integer(keys * headDim);
  const [kDiffers, vDiffers, kSize, vSize] = [k.largest, v.largest, k.size, v.size].map(small);
  const exact = k.largest === 0 && v.largest === 0;
  return [
    exact
      ? msg`Computed again from the tokens in one pass, all ${numbers} numbers of K and all ${numbers} of V are the same to the last bit.`
      : msg`Computed again from the tokens in one pass, K differs by at most ${kDiffers} and V by at most ${vDiffers} (${numbers} numbers each). The largest values are ${kSize} and ${vSize}.`,
    !exact && [k, v].every(isRounding) && ROUNDED,
    msg`The head’s output differs by at most ${small(output.largest)}.`,
  ]
    .filter(Boolean)
    .join(" ");
}
