/** Why K and V are cached: the run beside the same run without a cache, which the engine really executes. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { branchStep } from "../../../shared/facts/branching.js";
import { disturbance, marked, originOf, timed } from "../../../shared/facts/conditions.js";
import { integer, milliseconds, short, times } from "../../../shared/facts/format.js";
import { rowsBefore, stepRows } from "../../../shared/facts/step-rows.js";
import { compareTwin, rowsWithoutCache } from "../../../shared/facts/twins.js";
import { formatReadBy, groupsOf } from "../../../shared/facts/weights.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";
import { Table } from "../../../shared/ui/table.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { compareLink, idOf } from "../../facts/compare-link.js";
import { small } from "../../facts/small-numbers.js";
import { MeasureAgain } from "./measure-again.js";
import { fedNames, Stairs } from "./stairs.js";
import { showsLittle, timeWords } from "./time-words.js";
import { TwinControl } from "./twin-control.js";

/**
 * @param {{run: Object, step: number, twin: Object, ready: boolean, starting: boolean, recorded: boolean, dispatch: Function, controller: Object, client: Object}} props
 *   `twin`: of `useTwin`; `starting`: a new run is starting; `recorded`: the run came with the page, so its times may be another machine's
 */
export function WhyCache({ run, step, twin, ready, starting, recorded, dispatch, controller, client }) {
  const { log } = twin;
  const done = log?.steps.length ?? 0;
  const count = run.steps.length;
  const expected = useMemo(() => rowsWithoutCache(run), [run, count]);
  const compared = useMemo(() => (done ? compareTwin(run, log) : null), [run, count, log, done]);
  const names = useMemo(() => fedNames(run), [run, count]);
  const cached = useMemo(() => run.steps.map((_, at) => lineOf(run, at)), [run, count]);
  const linesWithout = useMemo(
    () => run.steps.map(({ firstQuery, rows }, at) => ({ reused: 0, again: firstQuery, fresh: rows, done: at < done })),
    [run, count, done],
  );
  const alike = !done || formatReadBy(run.steps) === formatReadBy(log.steps);
  const onPick = (to) => dispatch({ type: "seek", step: to });
  const without = integer(expected.without);
  const both = { names, current: step, onPick };
  // Times of another machine, or of other code for another format, do not stand beside these.
  const timesMeet = alike && !recorded;
  const timesCompare = timesMeet && compared !== null && !compared.times.disturbed;
  const longer = html`<${Longer} run=${run} ready=${ready} starting=${starting} compared=${timesCompare ? compared : null} alike=${alike} dispatch=${dispatch} controller=${controller} />`;
  return html`<p class="sheet-say">${NEED} ${rowsSaved(run, expected)} ${inheritedRows(run)} ${compared && measuredResult(run, compared, log, timesMeet)}</p>
    <${TwinControl}
      twin=${twin} run=${run} ready=${ready} label=${msg`Run it without a cache`} again=${msg`Run it without a cache again`}
    />
    <div class="sheet-columns is-even">
      <div class="stairs-pair">
        <${Stairs} title=${msg`Rows computed with the cache: ${integer(expected.cached)}`} lines=${cached} ...${both} />
        <${Stairs}
          title=${done ? msg`Rows computed without a cache: ${without}` : msg`Rows to compute without a cache: ${without} (not run yet)`}
          lines=${linesWithout} ...${both}
        />
        <p class="stairs-key row wide whole muted small">
          <span><i class="swatch is-reused"></i>${msg`read from the cache`}</span>
          <span><i class="swatch is-fresh"></i>${msg`computed for the first time`}</span>
          <span><i class="swatch is-again"></i>${msg`computed again`}</span>
        </p>
      </div>
      ${
        compared
          ? html`<${Totals} run=${run} alike=${alike} compared=${compared} count=${count} log=${log} recorded=${recorded} timesMeet=${timesMeet} />`
          : html`<div><${Expected} expected=${expected} />${longer}</div>`
      }
    </div>
    ${compared && html`<${MeasureAgain} run=${run} step=${Math.max(1, Math.min(step, done - 1))} ready=${ready} client=${client} />`}
    ${compared && html`<p class="sheet-say"><a href=${compareLink(idOf(run), log.id)}>${msg`Compare both runs token by token`}</a></p>`}
    ${compared && longer}
    ${compared && html`<${BySteps} step=${step} compared=${compared} timesMeet=${timesMeet} origin=${originOf(bothSides(run, log, compared.steps.length))} onPick=${onPick} />`}`;
}

/** A step's line of the stairs. */
function lineOf(run, step) {
  const { read, computed } = stepRows(run, step);
  return { reused: read, again: 0, fresh: computed, done: true };
}

/** @returns {string} which steps a branch has from its parent; "" for any other run */
function inheritedRows(run) {
  const last = branchStep(run);
  if (last === null) return "";
  return last === 0
    ? msg`Step 0 belongs to the run that this run branched from. Its rows were computed there and are read here.`
    : msg`Steps 0 to ${last} belong to the run that this run branched from. Their rows were computed there and are read here.`;
}

const NEED = msg`Each step needs the keys and values (K and V) of every token so far, so they are cached. A token’s query (Q) is used only in its own step, so it is dropped. A row is the vectors of one token in one step.`;

/** @returns {string} */
function rowsSaved(run, { cached, without, again }) {
  if (!again) return msg`After one step, nothing has been reused: prefill computes every row once.`;
  const [all, once, repeated] = [without, cached, again].map(integer);
  const before = rowsBefore(run);
  const withCache = before
    ? plural(
        cached,
        form`With the cache, this run computes ${once} row; K and V of ${integer(before)} rows were in the cache before.`,
        form`With the cache, this run computes ${once} rows; K and V of ${integer(before)} rows were in the cache before.`,
      )
    : plural(
        cached,
        form`With the cache, this run computes ${once} row: one for each token but the last, which is never an input.`,
        form`With the cache, this run computes ${once} rows: one for each token but the last, which is never an input.`,
      );
  const withoutCache = plural(
    without,
    form`Without a cache, it would compute ${all} row; ${repeated} would repeat earlier work with the same result.`,
    form`Without a cache, it would compute ${all} rows; ${repeated} would repeat earlier work with the same result.`,
  );
  return `${withCache} ${withoutCache}`;
}

/** Logits are about 20: float32 has 7 digits of each number, and a few are lost on the way through the layers. */
const ROUNDING = 1e-3;

function measuredResult(run, { cached, twin, times: took, logits, parting, steps }, log, timesMeet) {
  if (!log.close) return "";
  const [rowsWithout, rowsWith, count] = [twin.rows, cached.rows, steps.length].map(integer);
  const rows =
    steps.length === run.steps.length
      ? msg`Measured without a cache: ${rowsWithout} rows instead of ${rowsWith}.`
      : msg`Measured without a cache, first steps (${count}): ${rowsWithout} rows instead of ${rowsWith}.`;
  const [timeWithout, timeWith] = [milliseconds(took.twin), marked(took.cached, took.disturbed)];
  const difference = small(logits.largest);
  return html`<b>${rows}</b> ${timesMeet && took.steps > 0 && msg`The forward passes took ${timeWithout} instead of ${timeWith}.`}${" "}
    ${parting === null ? msg`The text is the same.` : msg`From step ${parting}, the text differs.`}${" "}
    ${msg`The ${logits.compared} largest logits of a step differ by at most ${difference}.`}${" "}
    ${parting === null && logits.largest < ROUNDING && msg`A difference this small is float32 rounding: the cache stores K and V as they were computed and approximates nothing.`}`;
}

function Expected({ expected: { cached, without } }) {
  return html`<${Table} name=${msg`Rows with and without a cache`}
    caption=${html`${msg`Rows expected in both cases`} <${Badge} origin="computed" />`} columns=${SIDES}
    rows=${[{ head: ROWS, cells: [integer(cached), integer(without), times(without / cached)] }]}
  />`;
}

const SIDES = [{}, { head: msg`with cache` }, { head: msg`without` }, { head: msg`ratio` }];
const ROWS = msg`rows through the model`;
const LINES = [
  { id: "rows", name: ROWS, origin: "measured", write: integer },
  { id: "ms", name: msg`time, forward passes`, origin: "measured", write: milliseconds },
  { id: "flops", name: msg`arithmetic`, origin: "computed", write: (value) => short(value, "FLOP") },
  { id: "read", name: msg`memory read`, origin: "computed", write: (value) => short(value, "B") },
];

/** Lines that depend on the format in which the weights were read. */
const OF_FORMAT = ["ms", "read"];

/** Why memory and time have no ratio: the two runs read the weights in different formats. */
function differentFormats(run, twin) {
  const [mine, its] = [run, twin].map(({ steps }) => formatReadBy(steps));
  return msg`After prefill, steps read the weights in ${mine} with the cache and in ${its} without it. The bytes and the code differ, so memory and time are not compared. Rows and arithmetic are compared.`;
}

const bothSides = (run, twin, count) => [run, twin].flatMap(({ steps }) => steps.slice(0, count));

/** @returns {string|null} which steps' times are not compared, and why; null if all are */
function disturbedTimes({ steps, times: took }) {
  const causes = steps.map(({ cached, twin }) => disturbance(cached) ?? disturbance(twin)).filter(Boolean);
  if (!causes.length) return null;
  const [cause] = causes;
  return took.disturbed
    ? msg`Times are not compared, because ${causes.length} of ${steps.length} steps were disturbed. First cause: ${cause}.`
    : msg`Times include ${took.steps} of ${steps.length} steps; the others were disturbed. First cause: ${cause}.`;
}

function timesExplained(compared, over) {
  const about = over && !compared.times.disturbed ? timeWords(compared) : null;
  return [disturbedTimes(compared), about].filter(Boolean).join(" ");
}

function Totals({ run, alike, compared, count, log, recorded, timesMeet }) {
  const { times: took, logits, steps, parting } = compared;
  const [cached, twin] = ["cached", "twin"].map((side) => ({ ...compared[side], ms: took[side] }));
  const explained = timesMeet ? timesExplained(compared, Boolean(log.close)) : alike ? "" : differentFormats(run, log);
  const lines = LINES.filter(({ id }) => timesMeet || id !== "ms");
  const compares = (id) => (alike || !OF_FORMAT.includes(id)) && !(id === "ms" && took.disturbed);
  return html`<div>
    <${Table} name=${msg`With and without a cache`} columns=${SIDES}
      caption=${steps.length === count ? msg`All steps: ${count}` : msg`First steps: ${steps.length} of ${count}`}
      rows=${[
        ...lines.map(({ id, name, origin, write }) => ({
          head: html`${name} <${Badge} origin=${id === "ms" && took.disturbed ? "disturbed" : origin} />`,
          cells: [write(cached[id]), write(twin[id]), compares(id) ? times(twin[id] / cached[id]) : "–"],
        })),
        {
          head: html`${msg`largest logit difference`} <${Badge} origin="measured" />`,
          cells: [html`<td colspan="3">${msg`${small(logits.largest)} over ${logits.compared} logits per step`}</td>`],
        },
        {
          head: msg`text`,
          cells: [html`<td colspan="3" class="is-words">${sameText(steps.length, parting)}</td>`],
        },
      ]}
    />
    ${explained && html`<p class="sheet-note muted small">${explained}</p>`}
    <p class="sheet-note muted small">
      ${timesMeet && msg`Times also depend on other programs on the machine, and the two runs were not simultaneous.`}
      ${" "}${msg`Rows and arithmetic are the same on every machine. Only the run with the cache also recorded all that this page shows.`}
      ${groupsOf(run.open.model) && ` ${msg`Passes of one token also run in faster code than longer ones. Measure one step again to time both in the same code.`}`}
      ${recorded && ` ${msg`That run was recorded earlier, perhaps on another machine, so its times do not stand beside those of the run without a cache.`}`}
    </p>
  </div>`;
}

function sameText(count, parting) {
  return parting === null
    ? plural(count, form`the same ${count} token`, form`the same ${count} tokens`)
    : msg`different from step ${parting}; logits are compared up to that step`;
}

/** At this length, the rows computed again take visible time. */
const LONG_TOKENS = 400;
const SHORT_TOKENS = 150;

/** On a short prompt a pass over all rows takes hardly longer than one over the newest row: offers a longer prompt. */
function Longer({ run, ready, starting, compared, alike, dispatch, controller }) {
  const { promptLength } = run;
  if (promptLength >= SHORT_TOKENS || run.saved || !ready || (compared && !showsLittle(compared))) return null;
  const copies = Math.floor(LONG_TOKENS / promptLength);
  const start = () => {
    dispatch({ type: "prompt", prompt: Array(copies).fill(run.open.prompt).join("\n") });
    controller.submit();
  };
  const little = compared
    ? msg`The rows differ far more than the time. A pass reads the weights once, whatever its number of rows, and this prompt is short.`
    : msg`This prompt is short, so little difference in time is to be expected: a pass reads the weights once, whatever its number of rows.`;
  return html`<p class="sheet-say why-longer">
    ${alike && `${little} `}${msg`A longer prompt shows the difference in time.`}${" "}
    <button class="button small" type="button" disabled=${starting} onClick=${start}>
      ${starting ? msg`Starting…` : msg`Run this prompt repeated to about ${LONG_TOKENS} tokens`}
    </button>
    ${" "}${msg`This starts a new run. The browser’s Back button returns to this one.`}
  </p>`;
}

function BySteps({ step, compared, timesMeet, origin, onPick }) {
  const series = useMemo(() => {
    const own = compared.steps.filter(({ cached }) => cached.ms !== null);
    const points = (side) => own.map((one) => ({ x: one.step, y: one[side].ms }));
    return [
      { name: msg`without`, kind: "line", tone: "computed", points: points("twin") },
      { name: msg`with the cache`, kind: "line", tone: "cached", points: points("cached") },
    ];
  }, [compared]);
  return html`<div class="sheet-columns is-even">
    ${
      timesMeet &&
      html`<div>
      <h4>${msg`Time of each step’s forward pass`} <${Badge} origin=${origin} /></h4>
      <${Chart}
        label=${msg`Milliseconds of each step with and without the cache`} x=${{ name: msg`step` }} current=${step} onPick=${onPick}
        y=${{ name: msg`milliseconds`, format: (ms) => integer(ms), exact: milliseconds }} series=${series} height=${170}
      />
    </div>`
    }
    <div class="twin-steps">
      <h4>${msg`Each step: with the cache → without`}</h4>
      <${Table} name=${msg`Each step with and without the cache`}
        columns=${[
          { head: msg`step` },
          { head: msg`rows` },
          timesMeet && { head: msg`time` },
          { head: msg`FLOP` },
          { head: msg`logits differ by` },
        ]}
        rows=${compared.steps.map(({ step: number, cached, twin, logits }) => ({
          head: number,
          current: number === step,
          cells: [
            `${cached.rows} → ${twin.rows}`,
            ...(timesMeet ? [`${cached.ms === null ? "–" : timed(cached.ms, cached)} → ${timed(twin.ms, twin)}`] : []),
            `${short(cached.flops, "").trim()} → ${short(twin.flops, "").trim()}`,
            logits ? small(logits.largest) : "–",
          ],
        }))}
      />
    </div>
  </div>`;
}
