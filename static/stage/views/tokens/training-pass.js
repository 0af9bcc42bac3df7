/** Training beside inference: every position of the prompt predicts, is told what really came, and has a loss. */

import { html } from "htm/preact";
import { bytes, counted, fixed, integer, percent } from "../../../shared/facts/format.js";
import { NOT_STORED } from "../../../shared/facts/saved-session.js";
import { useModelValues } from "../../../shared/loading/use-model-values.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Token } from "../../../shared/ui/token.js";

const BAR_PX = 64;
const WAITING = {
  loading: "One pass over the prompt is being computed, which keeps the logits of every position…",
  unavailable: "The model is not ready yet; then it can be asked.",
  none: `What each position would have said is ${NOT_STORED}.`,
};

/** @param {{state: Object, client: Object}} props */
export function TrainingPass({ state, client }) {
  const { run } = state;
  const { status, values, problem } = useModelValues(state, client.ask("losses"), { run: run.id }, "losses");
  if (!values) return html`<p role="status">${WAITING[status] ?? problem.message}</p>`;
  return html`<p>${summary(values)} <${Badge} origin="computed" /></p>
    <div class="training-body row">
      <${Positions} run=${run} positions=${values.positions} />
      <${Beside} run=${run} values=${values} />
    </div>`;
}

function summary({ positions, loss, perplexity }) {
  if (loss === null)
    return "The prompt is a single token: no other came after it, so there is nothing to learn from it.";
  const asked = counted(positions.length - 1, "position");
  return `One pass asks ${asked} at once how likely the token was that really came. Its loss is −ln of that probability; the mean is ${fixed(loss, 3)}, a perplexity of ${fixed(perplexity, 1)}: as unsure as among so many equally likely tokens.`;
}

function Positions({ run, positions }) {
  const most = Math.max(...positions.map(({ came }) => came?.loss ?? 0));
  return html`<div class="training-positions" role="region" tabindex="0" aria-label="Each position’s prediction and loss">
    <table>
      <thead>
        <tr><th scope="col">position</th><th scope="col">after</th><th scope="col">predicted</th><th scope="col">really next</th><th scope="col">loss</th></tr>
      </thead>
      <tbody>
        ${positions.map(
          ({ best, came }, position) => html`<tr key=${position}>
            <td>${position}</td>
            <th scope="row"><${Token} token=${run.tokens[position]} /></th>
            <td><${Token} token=${best} /> <span class="number">${percent(best.prob)}</span></td>
            ${
              came
                ? html`<td class=${came.rank === 0 ? "is-hit" : ""}><${Token} token=${run.tokens[position + 1]} /> <span class="number">${percent(came.prob)}</span> <small>number ${integer(came.rank + 1)}</small></td>
                  <td><i style=${`width:${((BAR_PX * came.loss) / (most || 1)).toFixed(1)}px`}></i> <span class="number">${fixed(came.loss, 2)}</span></td>`
                : html`<td colspan="2">inference goes on from here</td>`
            }
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The same pass, and what either does with it. */
function Beside({ run, values: { positions, loss, bytes: kept } }) {
  const count = positions.length;
  const { vocab } = run.open.model;
  const rows = [
    ["positions", `${integer(count)} in one pass`, `${integer(count)} in one pass, then one at a time`],
    ["mask", "each sees itself and those before it", "the same"],
    [
      "logits kept",
      `[${integer(count)} × ${integer(vocab)}], ${bytes(kept.logits)}`,
      `[1 × ${integer(vocab)}], ${bytes(kept.last_logits)}: the last position’s`,
    ],
    [
      "K and V",
      `${bytes(kept.kv)}, until this pass has been learned from`,
      `${bytes(kept.kv)}, in the cache for every later step`,
    ],
    [
      "loss",
      loss === null ? "none: nothing came next" : `${fixed(loss, 3)} on average`,
      "none: nobody knows what comes next",
    ],
    ["weights", "changed a little, so that the loss falls (not done here)", "never changed"],
  ];
  return html`<table class="training-beside">
    <caption>The same pass in training and in inference; bytes <${Badge} origin="measured" /></caption>
    <thead>
      <tr><td></td><th scope="col">training</th><th scope="col">inference</th></tr>
    </thead>
    <tbody>
      ${rows.map(([what, training, inference]) => html`<tr key=${what}><th scope="row">${what}</th><td>${training}</td><td>${inference}</td></tr>`)}
    </tbody>
  </table>`;
}
