/** Panel "time", opened large: what each step took, what it spent it on, and why the two phases differ. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { disturbance, marked, originOf, timed } from "../../../shared/facts/conditions.js";
import { counted, fixed, integer, milliseconds, percent, quoted } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";
import { phaseFacts, timeFacts } from "../../time/facts.js";
import { Phases } from "./phases.js";

export function TimeView({ state, dispatch, client }) {
  const { run, step } = state;
  const count = run.steps.length;
  const facts = timeFacts(run, step);
  const prefill = useMemo(() => phaseFacts(run, "prefill"), [run]);
  const decode = useMemo(() => phaseFacts(run, "decode"), [run, count]);
  const onPick = (to) => dispatch({ type: "seek", step: to });
  return html`<div class="sheet scrolls grow">
    <h2>${headline(run, prefill, decode)}</h2>
    <section class="sheet-part" aria-label="Step by step">
      <h3>Step by step <${Badge} origin=${originOf(run.steps)} /></h3>
      <${Steps} run=${run} step=${step} onPick=${onPick} />
    </section>
    <section class="sheet-part" aria-label="Two phases">
      <h3>Two phases</h3>
      <${Phases} run=${run} prefill=${prefill} decode=${decode} ready=${state.readiness.state === "ready"} client=${client} />
    </section>
    <section class="sheet-part" aria-label=${`Inside step ${step}`}>
      <h3>Inside step ${step} <${Badge} origin=${originOf([run.steps[step]])} /></h3>
      <${StepParts} run=${run} step=${step} facts=${facts} />
    </section>
  </div>`;
}

function headline(run, prefill, decode) {
  const computed = run.reused
    ? `${integer(run.reused)} of ${integer(run.promptLength)} prompt tokens were read from the cache; computing ${integer(run.prefillRows)}`
    : `${counted(run.prefillRows, "token")} of prompt`;
  const first = `${computed} took ${marked(prefill.msTotal, prefill.disturbed)}`;
  return decode ? `${first}; each token after that, ${marked(decode.msTotal, decode.disturbed)}` : first;
}

/** A prefill that took more than this many times the slowest decode step is cut off in the chart. */
const MOST_TIMES = 2;

function Steps({ run, step, onPick }) {
  const count = run.steps.length;
  const series = useMemo(() => {
    const points = run.steps.map(({ data }, x) => ({ x, y: data.ms.total }));
    return [{ name: "took", kind: "bar", tone: "plain", points }];
  }, [run, count]);
  const { prefill, decode } = timeFacts(run, count - 1);
  const slowest = decode ? Math.max(...decode.steps) : prefill.ms;
  const cap = prefill.ms > MOST_TIMES * slowest ? MOST_TIMES * slowest : undefined;
  return html`<p class="sheet-say">
      Until the first token (TTFT) it took <b>${timed(prefill.ms, run.steps[0].data)}</b>: prefill, ${counted(prefill.tokens, "token")} in
      ${" "}${run.prefillPasses === 1 ? "one pass" : `${run.prefillPasses} passes`}.
      ${
        decode &&
        html` After that ${counted(decode.steps.length, "decode step")}, one token each: the median ${medianOf(decode)} took
          ${" "}<b>${milliseconds(decode.median)}</b>, which is <b>${fixed(decode.perSecond, 1)} tokens a second</b>.`
      }
    </p>
    <${Chart}
      label="Milliseconds of each step; step 0 is prefill" x=${{ name: "step", format: (x) => (x === 0 ? "prefill" : String(x)) }}
      y=${{ name: "milliseconds", format: integer, exact: milliseconds, cap }} series=${series} current=${step} onPick=${onPick} height=${190}
    />`;
}

/** Which steps a median is of. */
function medianOf({ steps, of, disturbed }) {
  if (disturbed) return "of all, each of them disturbed,";
  return of < steps.length ? `of the ${integer(of)} that nothing disturbed` : "";
}

const PART_NOTES = {
  forward: "the model itself, from embedding to logits",
  capture: "copying out what this page shows; a run nobody watches does without",
  sample: "choosing a token from the logits",
};

function StepParts({ run, step, facts }) {
  const { data, rows, firstQuery } = run.steps[step];
  const { layers } = data.ms;
  const what = step === 0 ? `the prompt, ${counted(rows, "row")}` : `one row, ${quoted(run.tokens[firstQuery])}`;
  const disturbed = disturbance(data);
  return html`<p class="sheet-say">This step put ${what}, through the model.${disturbed && ` Its time is disturbed: ${disturbed}.`}</p>
    <div class="part-bar" role="img" aria-label=${facts.parts.map(({ name, ms }) => `${name} ${milliseconds(ms)}`).join(", ")}>
      ${facts.parts.map(({ name, ms }) => html`<i key=${name} class=${`part-${name}`} style=${`flex-grow:${ms}`}></i>`)}
    </div>
    <dl class="part-list stack tight small">
      ${facts.parts.map(
        ({ name, ms }) => html`<div key=${name}>
          <dt><i class=${`swatch part-${name}`}></i>${name}</dt>
          <dd><b>${milliseconds(ms)}</b> · ${percent(ms / facts.total, 0)} · ${PART_NOTES[name]}</dd>
        </div>`,
      )}
    </dl>
    ${layers && html`<${Layers} layers=${layers} forward=${data.ms.forward} />`}`;
}

function Layers({ layers, forward }) {
  const series = useMemo(
    () => [{ name: "took", kind: "bar", tone: "plain", points: layers.map((ms, x) => ({ x, y: ms })) }],
    [layers],
  );
  const sum = layers.reduce((total, ms) => total + ms, 0);
  return html`<h4>Layer by layer</h4>
    <${Chart}
      label="Milliseconds of each layer in this step" x=${{ name: "layer" }} series=${series} height=${150}
      y=${{ name: "milliseconds", format: (ms) => fixed(ms, 1), exact: milliseconds }}
    />
    <p class="sheet-note muted small">
      Together ${milliseconds(sum)} of the forward pass's ${milliseconds(forward)}; the rest is the embedding, the final norm
      and the LM head.
    </p>`;
}
