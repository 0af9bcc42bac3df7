/** Part "Keep only some positions": the run again with a small cache, by three policies, and what attention loses. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bytes, integer, percent } from "../../../../shared/facts/format.js";
import { NO_STUDY } from "../../../../shared/facts/saved-session.js";
import { Badge } from "../../../../shared/ui/badge.js";
import { Chart } from "../../../../shared/ui/chart.js";
import { msg } from "../../../../shared/words/msg.js";
import { Term } from "../../../../shared/words/term.js";
import { small } from "../../../facts/small-numbers.js";
import { Progress, Start, whyDisabled } from "../twin-control.js";
import { budgetsOf, lossOf, resultOf } from "./facts.js";
import { Numbers } from "./numbers.js";
import { PolicyCard } from "./policy-card.js";
import { usePolicies } from "./use-policies.js";
import { NAMES } from "./words.js";

const TONES = { window: "output", sinks: "computed", heavy: "cached" };

/** Reasons of a run that has reached its end. */
const ENDED = ["eos", "length"];

/** @param {{run: Object, step: number, selection: Object, ready: boolean, client: Object, dispatch: Function}} props */
export function KeptPart({ run, step, selection, ready, client, dispatch }) {
  const [chosen, setChosen] = useState(null);
  const policies = usePolicies(client, run, chosen);
  const { budget, twins } = policies;
  const [window, sinks, heavy] = twins;
  const measured = [useMeasured(run, window), useMeasured(run, sinks), useMeasured(run, heavy)];
  const shown = measured.filter(({ given, own }) => given || own);
  const whole = measured.filter(({ result }) => result);
  return html`<p class="sheet-say">
      ${msg`A cache grows with every token. What does attention lose when each layer keeps only some positions? The engine runs the same prompt again by three policies. After each step it removes the K and V of all other positions.`}
    </p>
    <${Control} run=${run} ready=${ready} policies=${policies} setBudget=${setChosen} />
    ${whole.length > 0 && html`<${Numbers} run=${run} policies=${whole} dispatch=${dispatch} />`}
    ${
      shown.length > 0 &&
      html`<div class="kept-cards">
        ${shown.map(
          (policy) => html`<${PolicyCard}
            key=${policy.policy} ...${policy} run=${run} step=${step} selection=${selection} budget=${budget} dispatch=${dispatch}
          />`,
        )}
      </div>
      <p class="stairs-key row wide muted small">
        <span><i class="swatch is-reused"></i>${msg`in the cache; paler: only in some KV heads`}</span>
        <span><i class="swatch is-fresh"></i>${msg`computed in this step`}</span>
        <span><i class="swatch is-hole"></i>${msg`dropped`}</span>
      </p>`
    }
    ${whole.length > 0 && html`<${BySteps} policies=${whole} step=${step} onPick=${(to) => dispatch({ type: "seek", step: to })} />`}
    <${Method} />`;
}

/** A policy with what its twin measured, once that has ended with the run's tokens. */
function useMeasured(run, twin) {
  const { given } = twin;
  const whole = Boolean(given?.close && ENDED.includes(given.close.reason) && given.steps.length);
  const measured = useMemo(
    () => (whole ? { result: resultOf(run, given), loss: lossOf(run, given) } : { result: null, loss: null }),
    [run, given, whole],
  );
  return { ...twin, ...measured };
}

/** @returns {string|null} why the policies cannot run */
function whyNot(run, ready) {
  if (run.saved) return NO_STUDY;
  const window = Math.min(...(run.open.model.windows ?? []).filter((each) => each !== null));
  if (run.close && run.positions > window) {
    const [newest, all] = [integer(window), integer(run.positions)];
    return msg`The local layers of this model have dropped positions themselves: they read only the newest ${newest}, and the run has ${all}. A shorter run can be compared.`;
  }
  return whyDisabled(run, ready);
}

function Control({ run, ready, policies, setBudget }) {
  const { budget, twins, starting, problem, start, stop } = policies;
  const { least, most } = budgetsOf(run);
  const logs = twins.flatMap(({ given, own }) => [given, own]).filter(Boolean);
  const running = logs.some(({ close }) => !close);
  const failed = logs.find(({ close }) => close && !ENDED.includes(close.reason));
  const onInput = ({ currentTarget }) => setBudget(currentTarget.valueAsNumber);
  const perPosition = run.steps.at(-1).data.kv.bytes_used / run.positions;
  return html`<p class="kept-control row small">
      <label class="row">${msg`Positions kept in each layer`}
        <input type="range" min=${least} max=${most} step="1" value=${budget} disabled=${running || least === most} onInput=${onInput} />
      </label>
      <output><b>${budget}</b> ${msg`of ${most}, ${bytes(budget * perPosition)}`} <${Badge} origin="computed" /></output>
    </p>
    ${
      running
        ? html`<${Progress}
            name=${msg`Progress of the policies`} done=${logs.reduce((sum, { steps }) => sum + steps.length, 0)}
            total=${2 * twins.length * run.steps.length} onStop=${stop}
          />`
        : html`<${Start}
            label=${starting ? msg`Starting…` : logs.length ? msg`Run the three policies again` : msg`Run the three policies`}
            isMain=${!logs.length} busy=${starting} why=${whyNot(run, ready)} note=${failed && (failed.close.error ?? msg`A policy was stopped before its end.`)}
            problem=${problem?.message} onStart=${start}
          />`
    }`;
}

function BySteps({ policies, step, onPick }) {
  const [kl, lost] = useMemo(
    () => {
      const series = (read) =>
        policies.map((each) => ({
          ...{ name: NAMES[each.policy], kind: "line", tone: TONES[each.policy] },
          points: read(each).map((y, x) => ({ x, y })),
        }));
      return [series(({ result }) => result.kl), series(({ loss }) => loss.byStep)];
    },
    policies.flatMap(({ result, loss }) => [result, loss]),
  );
  const shared = { x: { name: msg`step` }, current: step, onPick, height: 170 };
  return html`<div class="sheet-columns is-even">
    <div>
      <h4>${msg`Change of the next token’s probabilities`} <${Badge} origin="computed" /></h4>
      <${Chart} ...${shared} label=${msg`KL of each step by policy`} y=${{ name: msg`KL, nats`, format: small }} series=${kl} />
    </div>
    <div>
      <h4>${msg`Attention on dropped positions`} <${Badge} origin="computed" /></h4>
      <${Chart}
        ...${shared} label=${msg`Lost attention of each step by policy`} series=${lost}
        y=${{ name: msg`share, mean of all heads`, format: (share) => percent(share, 0) }}
      />
    </div>
  </div>`;
}

function Method() {
  return html`<p class="sheet-note muted small">
    <${Term} id="eviction">${msg`Eviction`}</${Term}>: ${msg`the whole prompt is read first. After each step, rows are removed, and the rows that stay are moved together, so that whole blocks become free. A step reads these rows and its own.`}${" "}
    <${Term} id="attention-sink">${msg`Attention sinks`}</${Term}>: ${msg`here K keeps the RoPE rotation of its original position; StreamingLLM (arXiv:2309.17453) rotates K by its place in the cache instead.`}${" "}
    <${Term} id="heavy-hitter">${msg`Heavy hitters`}</${Term}>: ${msg`chosen in each KV head of each layer, by the attention that this run’s own steps gave so far (H2O, arXiv:2306.14048, for each head).`}${" "}
    ${msg`Lost attention comes from the recorded weights of the run. KL: Σ p · ln(p ÷ q) in nats, with all positions (p) and with some (q), for the same tokens.`}
  </p>`;
}
