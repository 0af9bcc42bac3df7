/** The logits of the run's steps alone and beside other requests, and one logit added in several orders. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { OF_ORIGINAL } from "../../../shared/facts/changes.js";
import { fixed, integer, quoted, significant, withExponent } from "../../../shared/facts/format.js";
import { modelFor, NO_STUDY } from "../../../shared/facts/saved-session.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Table } from "../../../shared/ui/table.js";
import { msg } from "../../../shared/words/msg.js";
import { NEEDS_MODEL, Progress, Start } from "../cache/twin-control.js";
import { bitsOf, closest, decimalsOf, summed } from "./invariance-facts.js";

/** Rows of the pass that each row alone is compared with. */
const ROWS = 8;
/** Smaller differences are shown with an exponent. */
const LEAST = 0.001;
const ENGINE = {
  native: msg`KVScope’s native code: one order for each row`,
  lines: msg`this engine, which has no native code`,
  graph: msg`this engine`,
};
const KERNELS = [
  { name: "engine", of: ({ engine }) => engine, label: ({ by }) => ENGINE[by] },
  { name: "float32", of: ({ torch }) => torch.float32, label: () => msg`torch’s products in float32` },
  { name: "bfloat16", of: ({ torch }) => torch.bfloat16, label: () => msg`torch’s products in bfloat16` },
];

/** @param {{state: Object, client: Object, dispatch: Function}} props */
export function InvarianceSteps({ state, client, dispatch }) {
  const { run, step, readiness } = state;
  const { answer, problem, busy, start, stop } = useSteps(client, run);
  const model = modelFor(run, readiness);
  const why = model === "ready" ? null : model === "none" ? NO_STUDY : NEEDS_MODEL;
  const total = run.steps.length;
  const steps = answer?.steps ?? [];
  if (run.open.changed) return html`<p class="muted">${OF_ORIGINAL}</p>`;
  return html`<p>
      ${msg`Each step is computed again: its row alone, and in a pass with ${ROWS - 1} rows of other requests. All read the same K and V, so only the order of additions can differ.`}
    </p>
    ${
      busy
        ? html`<${Progress} name=${msg`Steps compared`} done=${steps.length} total=${total} onStop=${stop}>
            ${msg`Steps compared: ${steps.length} of ${total}`}
          <//>`
        : html`<${Start} label=${label(steps.length, total)} isMain=${steps.length < total} why=${why} problem=${problem?.detail || problem?.title} onStart=${start} />`
    }
    ${steps.length > 0 && html`<${Compared} answer=${answer} run=${run} step=${step} dispatch=${dispatch} />`}`;
}

function label(done, total) {
  if (done === 0) return msg`Compare all steps`;
  return done < total ? msg`Go on` : msg`Compare again`;
}

/** The answers so far. `start` goes on where it stopped, and begins again once all steps are compared. */
function useSteps(client, run) {
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const turn = useRef(0);
  const stop = () => {
    turn.current += 1;
    setBusy(false);
  };
  useEffect(() => stop, [run.id]);
  const start = async () => {
    const mine = ++turn.current;
    let steps = answer && answer.steps.length < run.steps.length ? answer.steps : [];
    setBusy(true);
    setProblem(null);
    try {
      while (steps.length < run.steps.length) {
        const part = await client.ask("invariance")({ run: run.id, step: steps.length, rows: ROWS });
        if (turn.current !== mine) return;
        steps = [...steps, ...part.steps];
        setAnswer({ ...part, steps });
      }
    } catch (refusal) {
      if (turn.current === mine) setProblem(refusal);
    }
    if (turn.current === mine) setBusy(false);
  };
  return { answer, problem, busy, start, stop };
}

function Compared({ answer, run, step, dispatch }) {
  const { steps, logits } = answer;
  const all = steps.length * logits;
  const nearest = closest(steps);
  const shown = steps.find((each) => each.step === step);
  return html`<${Table} name=${msg`Logits alone and beside ${ROWS - 1} other rows`} kind="long-words"
      columns=${[{ head: msg`computed by` }, { head: msg`logits that differ` }, { head: msg`largest difference` }, { head: msg`the text parts at`, words: true }]}
      rows=${KERNELS.map(({ name, of, label: labelOf }) => {
        const { differing, largest, parts } = summed(steps, of);
        return {
          key: name,
          head: labelOf(answer),
          cells: [
            msg`${integer(differing)} of ${integer(all)}`,
            largest < LEAST ? withExponent(largest) : significant(largest),
            parts
              ? html`<${Parts} twice=${of(parts)} step=${parts.step} dispatch=${dispatch} />`
              : msg`none of the compared steps`,
          ],
        };
      })}
    />
    <p>
      ${msg`The nearest choice is in step ${nearest.step}: its two largest logits are ${fixed(nearest.gap, 4)} apart. A token can change where rounding moves logits by more than that.`}${" "}
      <${Badge} origin="measured" />
    </p>
    ${shown && html`<${Orders} sums=${shown.sums} token=${run.steps[step].data.token} />`}
    <p class="sheet-note muted small">
      ${msg`At other servers temperature 0 can give another text under load: their kernels choose the order by the number of rows, and how many requests share a pass changes from moment to moment. Batch-invariant kernels have one order for all numbers of rows. In bfloat16, factors and results of products are rounded to 8 significant bits, as usual on GPUs; all else here is float32.`}
    </p>`;
}

function Parts({ twice, step, dispatch }) {
  const show = () => dispatch({ type: "seek", step });
  return html`<button class="button small" type="button" onClick=${show}>${msg`step ${step}`}</button>${" "}
    <small>${msg`${quoted(twice.alone)} alone, ${quoted(twice.beside)} beside others`}</small>`;
}

/** One logit of the shown step, added in several orders, and three of its numbers. */
function Orders({ sums, token }) {
  const orders = [
    [msg`one after another`, sums.one_by_one],
    [msg`from the last to the first`, sums.backwards],
    [msg`16 sums side by side, then these`, sums.in_lanes],
  ];
  return html`<h4>${msg`The logit of ${quoted(token)}: ${integer(sums.count)} products, added in other orders`} <${Badge} origin="computed" /></h4>
    <${Numbers} name=${msg`One logit, added in several orders`} first=${msg`order`} rows=${orders} />
    <p class="small">${msg`Without rounding: ${fixed(sums.exact, 12)}`}</p>
    ${sums.three && html`<${Grouped} three=${sums.three} />`}`;
}

function Grouped({ three: { numbers, left, right, at } }) {
  const [a, b, c] = numbers;
  return html`<h4>${msg`Three numbers of this sum, added both ways`}</h4>
    <p>${msg`a is the sum of the first ${integer(at)} products; b and c are the next two. Each addition is rounded to 24 significant bits.`}</p>
    <${Numbers} name=${msg`Three numbers of this sum, added both ways`} first=${msg`number`}
      rows=${[["a", a], ["b", b], ["c", c], ["(a + b) + c", left], ["a + (b + c)", right]]}
    />`;
}

function Numbers({ name, first, rows }) {
  return html`<${Table} name=${name} columns=${[{ head: first }, { head: msg`value` }, { head: msg`sign, exponent and fraction in bits`, words: true }]}
    rows=${rows.map(([head, value]) => ({ key: head, head, cells: [fixed(value, decimalsOf(value)), html`<${Bits} value=${value} />`] }))}
  />`;
}

function Bits({ value }) {
  const { sign, exponent, fraction } = bitsOf(value);
  return html`<code class="float-bits">${sign} <b>${exponent}</b> ${fraction}</code>`;
}
