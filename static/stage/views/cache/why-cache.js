/** Why K and V are kept: the run beside its twin that was really executed without a cache. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { branchStep } from "../../../shared/facts/branching.js";
import { disturbance, marked, originOf, timed } from "../../../shared/facts/conditions.js";
import { counted, integer, milliseconds, short, times } from "../../../shared/facts/format.js";
import { small } from "../../../shared/facts/small-numbers.js";
import { compareTwin, rowsComputed, rowsWithoutCache } from "../../../shared/facts/twins.js";
import { oneFormat, readAlike } from "../../../shared/facts/weights.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";
import { MeasureAgain } from "./measure-again.js";
import { fedNames, Stairs } from "./stairs.js";
import { showsLittle, timeWords } from "./time-words.js";
import { TwinControl } from "./twin-control.js";

/**
 * @param {{run: Object, step: number, twin: Object, ready: boolean, starting: boolean, recorded: boolean, dispatch: Function, controller: Object, client: Object}} props
 *   `twin`: of `useTwin`; `starting`: a new run has been asked for; `recorded`: the run came with the page, so its times may be another machine's
 */
export function WhyCache({ run, step, twin, ready, starting, recorded, dispatch, controller, client }) {
  const { log } = twin;
  const done = log?.steps.length ?? 0;
  const count = run.steps.length;
  const would = useMemo(() => rowsWithoutCache(run), [run, count]);
  const compared = useMemo(() => (done ? compareTwin(run, log) : null), [run, count, log, done]);
  const names = useMemo(() => fedNames(run), [run, count]);
  const cached = useMemo(() => run.steps.map((one, at) => lineOf(one, at <= (branchStep(run) ?? -1))), [run, count]);
  const without = useMemo(
    () => run.steps.map(({ firstQuery, rows }, at) => ({ reused: 0, again: firstQuery, fresh: rows, done: at < done })),
    [run, count, done],
  );
  const alike = useMemo(() => !log || readAlike(run.steps, log.steps, run.open.model), [run, count, log, done]);
  const onPick = (to) => dispatch({ type: "seek", step: to });
  const both = { names, current: step, onPick };
  const timesCompare = alike && compared !== null && !compared.times.disturbed;
  const longer = html`<${Longer} run=${run} ready=${ready} starting=${starting} compared=${timesCompare ? compared : null} alike=${alike} dispatch=${dispatch} controller=${controller} />`;
  return html`<p class="sheet-say">${sayWhy(would)}${sayInherited(run)}${compared && html` ${sayMeasured(run, compared, log)}`}</p>
    <${TwinControl} twin=${twin} run=${run} ready=${ready}>Run it without a cache<//>
    <div class="sheet-columns is-even">
      <div class="stairs-pair">
        <${Stairs} title=${`With the cache: ${counted(would.cached, "row")}`} lines=${cached} ...${both} />
        <${Stairs}
          title=${`Without: ${counted(would.without, "row")}${done ? "" : ", not run yet"}`}
          lines=${without} ...${both}
        />
        <p class="stairs-key row wide whole muted small">
          <span><i class="swatch is-reused"></i>read from the cache</span>
          <span><i class="swatch is-fresh"></i>computed for the first time</span>
          <span><i class="swatch is-again"></i>computed again</span>
        </p>
      </div>
      ${
        compared
          ? html`<${Totals} run=${run} alike=${alike} compared=${compared} count=${count} log=${log} recorded=${recorded} />`
          : html`<div><${Expected} would=${would} />${longer}</div>`
      }
    </div>
    ${compared && html`<${MeasureAgain} run=${run} step=${Math.max(1, Math.min(step, done - 1))} ready=${ready} client=${client} />`}
    ${compared && longer}
    ${compared && html`<${BySteps} step=${step} compared=${compared} origin=${originOf(bothSides(run, log, compared.steps.length))} onPick=${onPick} />`}`;
}

/** A step's line of the stairs. `inherited`: it was computed by the run that this one branched from. */
function lineOf(step, inherited) {
  const rows = rowsComputed(step);
  const [reused, fresh] = inherited ? [step.firstQuery + rows, 0] : [step.firstQuery, rows];
  return { reused, again: 0, fresh, done: true };
}

/** @returns {string} what a branch had from its parent; "" for any other run */
function sayInherited(run) {
  const last = branchStep(run);
  if (last === null) return "";
  return ` Steps 0 to ${last} are those of the run it branched from: their rows were computed there, and read here.`;
}

/** Why these two and not the third: what each is for. */
const NEED =
  "Each step needs K and V of every token so far. Q is the question of one token, asked once, in its own step: it is dropped. " +
  "K and V are what every later token asks of it: they are kept.";

function sayWhy({ cached, without, again }) {
  if (!again) return `${NEED} With one step there is nothing to keep yet: prefill computes every row once.`;
  const kept = `This run keeps them, so it put ${counted(cached, "row")} through the model: one per token but the last, which nothing followed.`;
  const lost = `${integer(again)} of them computed again, with the same result as before`;
  return `${NEED} ${kept} Without a cache it would have been ${integer(without)}: ${lost}.`;
}

/** Logits are about 20: float32 keeps 7 digits of each number, and a few are lost on the way through the layers. */
const ROUNDING = 1e-3;

function sayMeasured(run, { cached, twin, times: took, logits, parting, steps }, log) {
  if (!log.close) return "";
  const text = parting === null ? "It wrote the same text" : `From step ${parting} on it wrote another text`;
  const all = steps.length === run.steps.length ? "" : ` over its first ${counted(steps.length, "step")}`;
  const rounding = parting === null && logits.largest < ROUNDING;
  return html`<b>Really run without a cache${all}: ${integer(twin.rows)} rows instead of ${integer(cached.rows)}.</b>
    ${` Its forward passes took ${milliseconds(took.twin)} instead of ${marked(took.cached, took.disturbed)}. ${text}, and of the ${logits.compared} largest logits of a step none differs by more than ${small(logits.largest)}`}${
      rounding && ": float32 rounding. The cache is exact, not an approximation"
    }.`;
}

function Expected({ would }) {
  return html`<table class="numbers" aria-label="Without a cache, computed">
    <caption>What is known before it runs <${Badge} origin="computed" /></caption>
    <thead><tr><td></td><th scope="col">with cache</th><th scope="col">without</th><th scope="col">ratio</th></tr></thead>
    <tbody>
      <tr>
        <th scope="row">rows through the model</th>
        <td>${integer(would.cached)}</td><td>${integer(would.without)}</td><td>${times(would.without / would.cached)}</td>
      </tr>
    </tbody>
  </table>`;
}

const LINES = [
  { id: "rows", name: "rows through the model", origin: "measured", write: integer },
  { id: "ms", name: "time, forward passes", origin: "measured", write: milliseconds },
  { id: "flops", name: "arithmetic", origin: "computed", write: (value) => short(value, "FLOP") },
  { id: "read", name: "memory read", origin: "computed", write: (value) => short(value, "B") },
];

/** Of what depends on the format that the weights were read in. */
const OF_FORMAT = ["ms", "read"];

/** Why no ratio is formed: what one of the two read is not what the other read. */
function otherFormats(run, twin) {
  const { model } = run.open;
  const [mine, its] = [run, twin].map(({ steps }) => oneFormat(steps.slice(1), model) ?? "several formats");
  return `With the cache, steps of one row read the weights in ${mine}; without it they read them in ${its}. These are other bytes for the same weights, and other code, so memory and time are not compared. Rows and arithmetic are.`;
}

const bothSides = (run, twin, count) => [run, twin].flatMap(({ steps }) => steps.slice(0, count));

/** Which steps' times are not compared, and why; null where all are. */
function disturbedWords({ steps, times: took }) {
  const causes = steps.map(({ cached, twin }) => disturbance(cached) ?? disturbance(twin)).filter(Boolean);
  if (!causes.length) return null;
  const left = `${counted(causes.length, "step")} of ${steps.length} were disturbed (the first: ${causes[0]})`;
  return took.disturbed
    ? `Times are not compared: ${left}.`
    : `Times are those of the other ${counted(took.steps, "step")}: ${left}.`;
}

function sayTimes(compared, over) {
  const about = over && !compared.times.disturbed ? timeWords(compared) : null;
  return [disturbedWords(compared), about].filter(Boolean).join(" ");
}

function Totals({ run, alike, compared, count, log, recorded }) {
  const { times: took, logits, steps, parting } = compared;
  const [cached, twin] = ["cached", "twin"].map((side) => ({ ...compared[side], ms: took[side] }));
  const said = alike ? sayTimes(compared, Boolean(log.close)) : otherFormats(run, log);
  const compares = (id) => (alike || !OF_FORMAT.includes(id)) && !(id === "ms" && took.disturbed);
  return html`<div>
    <table class="numbers is-tight" aria-label="With and without a cache">
      <caption>${steps.length === count ? "All" : `The first ${steps.length} of`} ${counted(count, "step")}</caption>
      <thead><tr><td></td><th scope="col">with cache</th><th scope="col">without</th><th scope="col">ratio</th></tr></thead>
      <tbody>
        ${LINES.map(
          ({ id, name, origin, write }) => html`<tr key=${id}>
            <th scope="row">${name} <${Badge} origin=${id === "ms" && took.disturbed ? "disturbed" : origin} /></th>
            <td>${write(cached[id])}</td><td>${write(twin[id])}</td><td>${compares(id) ? times(twin[id] / cached[id]) : "–"}</td>
          </tr>`,
        )}
        <tr>
          <th scope="row">largest logit difference <${Badge} origin="measured" /></th>
          <td colspan="3">${small(logits.largest)} over ${logits.compared} logits a step</td>
        </tr>
        <tr>
          <th scope="row">text</th>
          <td colspan="3" class="is-words">
            ${parting === null ? `the same ${counted(steps.length, "token")}` : `another token at step ${parting}; logits compared up to there`}
          </td>
        </tr>
      </tbody>
    </table>
    ${said && html`<p class="sheet-note muted small">${said}</p>`}
    <p class="sheet-note muted small">
      A time is not the work: the clock goes on while other programs have the processor, and the two did not run at the same
      moment. Rows and arithmetic are the work, and the same on every machine. The cached run also wrote down all that this
      page shows; the twin did not.
      ${recorded && " It was recorded earlier, perhaps on another machine: compare the milliseconds with care."}
    </p>
  </div>`;
}

/** From this length on the rows without a cache cost time that anybody sees. */
const LONG_TOKENS = 400;
const SHORT_TOKENS = 150;

/** On a short prompt a pass over all rows takes hardly longer than one over the newest: a length at which it does. */
function Longer({ run, ready, starting, compared, alike, dispatch, controller }) {
  const { promptLength } = run;
  if (promptLength >= SHORT_TOKENS || run.saved || !ready || (compared && !showsLittle(compared))) return null;
  const copies = Math.floor(LONG_TOKENS / promptLength);
  const start = () => {
    dispatch({ type: "prompt", prompt: Array(copies).fill(run.open.prompt).join("\n") });
    controller.submit();
  };
  const short = `With ${counted(promptLength, "token")} of prompt`;
  const little = compared ? "the rows differ far more than the time" : "a quiet machine shows little of it in time";
  const why = "every pass reads all the weights once, however few rows go through it";
  return html`<p class="sheet-say why-longer">
    ${alike && `${short} ${little}: ${why}. `}Time shows it on a longer prompt.${" "}
    <button class="button small" type="button" disabled=${starting} onClick=${start}>${starting ? "Starting…" : `Run this text ${copies} times over`}</button>
    ${" "}That starts a new run, whose prompt is ${copies} copies of this one below each other, about ${LONG_TOKENS} tokens. This run stays: the browser’s Back button leads to it.
  </p>`;
}

function BySteps({ step, compared, origin, onPick }) {
  const series = useMemo(() => {
    const points = (side) => compared.steps.map((one) => ({ x: one.step, y: one[side].ms }));
    return [
      { name: "without", kind: "line", tone: "computed", points: points("twin") },
      { name: "with the cache", kind: "line", tone: "cached", points: points("cached") },
    ];
  }, [compared]);
  return html`<div class="sheet-columns is-even">
    <div>
      <h4>Time of each step's forward pass <${Badge} origin=${origin} /></h4>
      <${Chart}
        label="Milliseconds of each step with and without the cache" x=${{ name: "step" }} current=${step} onPick=${onPick}
        y=${{ name: "milliseconds", format: (ms) => integer(ms), exact: milliseconds }} series=${series} height=${170}
      />
    </div>
    <div>
      <h4>Every step's numbers: with the cache → without</h4>
      <div class="sheet-wide across twin-steps" tabindex="0" role="region" aria-label="Every step's numbers">
        <table class="numbers" aria-label="Each step, cached and not">
          <thead>
            <tr>
              <th scope="col">step</th><th scope="col">rows</th><th scope="col">time</th><th scope="col">FLOP</th>
              <th scope="col">logits differ by</th>
            </tr>
          </thead>
          <tbody>
            ${compared.steps.map(
              (one) => html`<tr key=${one.step} class=${one.step === step ? "is-current" : ""}>
                <th scope="row">${one.step}</th>
                <td>${one.cached.rows} → ${one.twin.rows}</td>
                <td>${timed(one.cached.ms, one.cached)} → ${timed(one.twin.ms, one.twin)}</td>
                <td>${short(one.cached.flops, "").trim()} → ${short(one.twin.flops, "").trim()}</td>
                <td>${one.logits ? small(one.logits.largest) : "–"}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </div>
  </div>`;
}
