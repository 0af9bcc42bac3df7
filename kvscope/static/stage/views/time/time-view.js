/** View "time": how long each step took, its parts, and why prefill and decode differ. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { disturbance, marked, originOf, timed } from "../../../shared/facts/conditions.js";
import { fixed, integer, milliseconds, percent, quoted } from "../../../shared/facts/format.js";
import { lacking } from "../../../shared/facts/lacking.js";
import { isInherited, measuredTogether } from "../../../shared/facts/step-rows.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";
import { stepsInWords, tokenCount } from "../../../shared/words/counts.js";
import { form, msg, nodes, plural } from "../../../shared/words/msg.js";
import { phaseFacts, timeFacts } from "../../time/facts.js";
import { Phases } from "./phases.js";

export function TimeView({ state, dispatch, client }) {
  const { run, step } = state;
  const facts = timeFacts(run, step);
  const { from, to } = measuredTogether(run, step);
  const prefill = useMemo(() => phaseFacts(run, "prefill", { from, to }), [run, from, to]);
  const decode = useMemo(() => phaseFacts(run, "decode", { from, to }), [run, from, to]);
  const noCosts = lacking(run, ["costs"]);
  const inherited = isInherited(run, step);
  const recorded = Boolean(run.saved) || state.examples.some(({ id }) => id === run.id);
  const onPick = (to) => dispatch({ type: "seek", step: to });
  return html`<div class="sheet scrolls grow">
    <h2>${headline(run, prefill, decode)}</h2>
    ${run.open.parent && html`<p class="sheet-say">${whoseTimes(inherited, { from, to })}</p>`}
    <section class="sheet-part" data-names="time-steps" aria-label=${msg`Step by step`}>
      <h3>${msg`Step by step`} <${Badge} origin=${originOf(run.steps.slice(from, to))} /></h3>
      <${Steps} run=${run} step=${step} measured=${{ from, to }} onPick=${onPick} />
    </section>
    <section class="sheet-part" data-names="time-phases" aria-label=${msg`Two phases`}>
      <h3>${msg`Two phases`}</h3>
      ${noCosts ? html`<p class="sheet-say muted">${noCosts}</p>` : html`<${Phases} run=${run} prefill=${prefill} decode=${decode} measured=${{ from, to }} here=${!recorded && !inherited} ready=${state.readiness.state === "ready"} client=${client} />`}
    </section>
    <section class="sheet-part" data-names="time-inside" aria-label=${msg`Inside step ${step}`}>
      <h3>${msg`Inside step ${step}`} <${Badge} origin=${originOf([run.steps[step]])} /></h3>
      <${StepParts} run=${run} step=${step} facts=${facts} />
    </section>
  </div>`;
}

/** @returns {string} which steps of a branch these times are of */
function whoseTimes(inherited, { from, to }) {
  const steps = stepsInWords(from, to - 1);
  return inherited
    ? msg`${steps}: computed and measured in the run that this one branched from, perhaps on another machine.`
    : msg`${steps}: those that this branch computed. Earlier steps were measured in the run before it.`;
}

function headline({ reused, promptLength, prefillRows }, prefill, decode) {
  if (!prefill) return decodeTime(decode);
  const [cached, prompt, computed] = [reused, promptLength, prefillRows].map(integer);
  const time = marked(prefill.msTotal, prefill.disturbed);
  const first = reused
    ? msg`${prompt} prompt tokens: ${cached} read from the cache, ${computed} computed in ${time}.`
    : plural(
        prefillRows,
        form`Prefill of ${computed} token took ${time}.`,
        form`Prefill of ${computed} tokens took ${time}.`,
      );
  if (!decode) return first;
  return `${first} ${decodeTime(decode)}`;
}

function decodeTime({ steps, msTotal, disturbed }) {
  const time = marked(msTotal, disturbed);
  return steps > 1 ? msg`A decode step took ${time} (median).` : msg`A decode step took ${time}.`;
}

/** A prefill that took more than this many times the slowest decode step is cut off in the chart. */
const MAX_TIMES = 2;

function Steps({ run, step, measured: { from, to }, onPick }) {
  const series = useMemo(() => {
    const points = run.steps.slice(from, to).map(({ data }, at) => ({ x: from + at, y: data.ms.total }));
    return [{ name: msg`took`, kind: "bar", tone: "plain", points }];
  }, [run, from, to]);
  const { prefill, decode } = timeFacts(run, to - 1);
  const slowest = decode ? Math.max(...decode.steps) : prefill.ms;
  const cap = prefill && prefill.ms > MAX_TIMES * slowest ? MAX_TIMES * slowest : undefined;
  return html`<p class="sheet-say">${prefill && firstToken(run, prefill)} ${decode && laterTokens(decode)}</p>
    <${Chart}
      label=${prefill ? msg`Milliseconds of each step; step 0 is prefill` : msg`Milliseconds of each step`} x=${{ name: msg`step`, format: (x) => (x === 0 ? msg`prefill` : String(x)) }}
      y=${{ name: msg`milliseconds`, format: integer, exact: milliseconds, cap }} series=${series} current=${step} onPick=${onPick} height=${190}
    />`;
}

function firstToken({ prefillPasses: passes, steps }, { ms, tokens: count }) {
  const time = html`<b>${timed(ms, steps[0].data)}</b>`;
  const tokens = tokenCount(count);
  return passes === 1
    ? nodes`The time to the first token (TTFT) was ${time}: prefill of ${tokens} in one pass.`
    : nodes`The time to the first token (TTFT) was ${time}: prefill of ${tokens} in ${passes} passes.`;
}

function laterTokens({ steps, of, disturbed, median, perSecond }) {
  const [count, quiet] = [integer(steps.length), integer(of)];
  const [time, rate] = [html`<b>${milliseconds(median)}</b>`, html`<b>${fixed(perSecond, 1)}</b>`];
  const number = plural(
    steps.length,
    form`${count} decode step computed one token.`,
    form`${count} decode steps computed one token each.`,
  );
  const typical = disturbed
    ? nodes`Every one was disturbed; their median took ${time}, or ${rate} tokens per second.`
    : of < steps.length
      ? nodes`The median of the undisturbed ones (${quiet}) took ${time}, or ${rate} tokens per second.`
      : nodes`The median step took ${time}, or ${rate} tokens per second.`;
  return html`${number} ${typical}`;
}

const PARTS = {
  forward: { label: msg`forward`, note: msg`one pass through the model, from embedding to logits (scores)` },
  capture: {
    label: msg`capture`,
    note: msg`copies values for this page and the run’s log; an ordinary server does not need it`,
  },
  sample: { label: msg`sample`, note: msg`chooses a token from the logits` },
};

function StepParts({ run, step, facts }) {
  const { data, rows, firstQuery } = run.steps[step];
  const { layers } = data.ms;
  const token = quoted(run.tokens[firstQuery]);
  const input =
    step === 0
      ? plural(
          rows,
          form`This step put ${rows} row of the prompt through the model.`,
          form`This step put ${rows} rows of the prompt through the model.`,
        )
      : msg`This step put one row, ${token}, through the model.`;
  const cause = disturbance(data);
  return html`<p class="sheet-say">${input}${cause && ` ${msg`Its time was disturbed: ${cause}.`}`}</p>
    <div class="part-bar" role="img" aria-label=${facts.parts.map(({ name, ms }) => `${PARTS[name].label} ${milliseconds(ms)}`).join(", ")}>
      ${facts.parts.map(({ name, ms }) => html`<i key=${name} class=${`part-${name}`} style=${`flex-grow:${ms}`}></i>`)}
    </div>
    <dl class="part-list stack tight small">
      ${facts.parts.map(
        ({ name, ms }) => html`<div key=${name}>
          <dt><i class=${`swatch part-${name}`}></i>${PARTS[name].label}</dt>
          <dd><b>${milliseconds(ms)}</b> · ${percent(ms / facts.total, 0)} · ${PARTS[name].note}</dd>
        </div>`,
      )}
    </dl>
    ${layers && html`<${Layers} layers=${layers} forward=${data.ms.forward} />`}`;
}

function Layers({ layers, forward }) {
  const series = useMemo(
    () => [{ name: msg`took`, kind: "bar", tone: "plain", points: layers.map((ms, x) => ({ x, y: ms })) }],
    [layers],
  );
  const sum = layers.reduce((total, ms) => total + ms, 0);
  return html`<h4>${msg`Layer by layer`}</h4>
    <${Chart}
      label=${msg`Milliseconds of each layer in this step`} x=${{ name: msg`layer` }} series=${series} height=${150}
      y=${{ name: msg`milliseconds`, format: (ms) => fixed(ms, 1), exact: milliseconds }}
    />
    <p class="sheet-note muted small">
      ${msg`All layers took ${milliseconds(sum)} of the forward pass’s ${milliseconds(forward)}. The rest is the embedding, the final norm and the LM head.`}
    </p>`;
}
