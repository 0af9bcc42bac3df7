/** Training beside inference: at every position of the prompt the prediction, the actual next token and the loss. */

import { html } from "htm/preact";
import { bytes, fixed, integer, percent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Table } from "../../../shared/ui/table.js";
import { Token } from "../../../shared/ui/token.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { useModelValues } from "../../state/use-model-values.js";

const BAR_PX = 64;
const WAITING = {
  loading: msg`Computing the logits of every position in one pass…`,
  unavailable: msg`The model is not ready yet.`,
  none: msg`The prediction at each position is not stored with this session, and its model cannot be asked for them here.`,
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
    return msg`The prompt is a single token. No token follows it, so training has nothing to learn from it.`;
  const count = positions.length - 1;
  const pass = plural(
    count,
    form`One pass predicts the next token at ${integer(count)} position.`,
    form`One pass predicts the next token at ${integer(count)} positions.`,
  );
  const mean = msg`The loss is −ln of the probability of the actual next token; the mean is ${fixed(loss, 3)}, a perplexity of ${fixed(perplexity, 1)}.`;
  return `${pass} ${mean} ${msg`Perplexity is the number of equally likely tokens that would give this loss.`}`;
}

function Positions({ run, positions }) {
  const most = Math.max(...positions.map(({ came }) => came?.loss ?? 0));
  const came = ({ rank, prob }, token) =>
    html`<td class=${rank === 0 ? "is-hit" : ""}><${Token} token=${token} /> <span class="number">${percent(prob)}</span> <small>${msg`number ${integer(rank + 1)}`}</small></td>`;
  const loss = (value) =>
    html`<i style=${`width:${((BAR_PX * value) / (most || 1)).toFixed(1)}px`}></i> <span class="number">${fixed(value, 2)}</span>`;
  return html`<div class="training-positions">
    <${Table} name=${msg`Prediction and loss at each position`}
      columns=${[
        { head: msg`position` },
        { head: msg`token`, words: true },
        { head: msg`predicted next`, words: true },
        { head: msg`actual next`, words: true },
        { head: msg`loss`, words: true },
      ]}
      rows=${positions.map(({ best, came: next }, position) => ({
        head: position,
        cells: [
          html`<${Token} token=${run.tokens[position]} />`,
          html`<${Token} token=${best} /> <span class="number">${percent(best.prob)}</span>`,
          ...(next
            ? [came(next, run.tokens[position + 1]), loss(next.loss)]
            : [html`<td colspan="2">${msg`inference continues here`}</td>`]),
        ],
      }))}
    />
  </div>`;
}

/** What training and inference do with the same pass. */
function Beside({ run, values: { positions, loss, bytes: sizes } }) {
  const count = positions.length;
  const { vocab } = run.open.model;
  const rows = [
    [msg`positions`, msg`${integer(count)} in one pass`, msg`${integer(count)} in one pass, then one per step`],
    [msg`mask`, msg`each position reads itself and earlier ones`, msg`the same`],
    [
      msg`logits`,
      `[${integer(count)} × ${integer(vocab)}], ${bytes(sizes.logits)}`,
      msg`only the last position: [1 × ${integer(vocab)}], ${bytes(sizes.last_logits)}`,
    ],
    [
      msg`K and V`,
      msg`${bytes(sizes.kv)}, until the weights are updated`,
      msg`${bytes(sizes.kv)}, in the cache for every later step`,
    ],
    [
      msg`loss`,
      loss === null ? msg`none: no token follows` : msg`${fixed(loss, 3)} on average`,
      msg`none: the next token is unknown`,
    ],
    [msg`weights`, msg`updated to lower the loss (not done here)`, msg`never updated`],
  ];
  return html`<div class="training-beside">
    <${Table} name=${msg`Training and inference`}
      caption=${html`${msg`The same pass in training and in inference. Bytes:`} <${Badge} origin="measured" />`}
      columns=${[{}, { head: msg`training`, words: true }, { head: msg`inference`, words: true }]}
      rows=${rows.map(([head, ...cells]) => ({ head, cells }))}
    />
  </div>`;
}
