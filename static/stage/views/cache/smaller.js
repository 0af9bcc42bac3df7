/** The same tokens with K and V really stored in fewer bits, or of fewer heads: bytes, and what they cost. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, counted, fixed, percent, quoted, significant } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { DTYPES, formName, lossOf, smallerForms } from "./forms.js";

export function Smaller({ run, ready, client, dispatch }) {
  const [losses, setLosses] = useState([]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const left = useRef(false);
  useEffect(() => {
    left.current = false;
    return () => {
      left.current = true;
    };
  }, []);
  const forms = smallerForms(run.open.model);
  const measure = async () => {
    setBusy(true);
    setProblem(null);
    setLosses([]);
    try {
      for (const form of forms) {
        const loss = await client.ask("smaller")({ run: run.id, dtype: form.dtype, kv_heads: form.kvHeads });
        if (left.current) return;
        setLosses((before) => [...before, { form, loss }]);
      }
    } catch (refusal) {
      setProblem(refusal);
    }
    setBusy(false);
  };
  if (run.open.study) return null;
  return html`<h4>Really stored smaller <${Badge} origin="measured" /></h4>
    <p class="sheet-say">
      The run’s own tokens go through the model again, K and V stored in fewer bits or of fewer heads, and once more as they are. Both are
      compared, step by step.
    </p>
    <p class="twin-control row small">
      <button
        type="button" class=${losses.length ? "" : "is-main"} disabled=${busy || !ready || run.steps.length === 0} onClick=${measure}
      >${busy ? `Measuring ${losses.length + 1} of ${forms.length}…` : losses.length ? "Measure again" : "Measure on this run"}</button>
      ${!ready && html`<span>Possible when the model is loaded.</span>`}
      ${problem && html`<span class="word-bad" role="alert">${problem.message}</span>`}
    </p>
    ${losses.length > 0 && html`<${Losses} run=${run} losses=${losses} dispatch=${dispatch} />`}`;
}

function Losses({ run, losses, dispatch }) {
  const { kv_heads: all, layers, head_dim: width, element_bytes: size } = run.open.model;
  const own = 2 * layers * all * width * size;
  return html`<div class="sheet-wide across" tabindex="0" role="region" aria-label="What smaller caches lose">
    <table class="numbers smaller">
      <thead><tr>
        <th scope="col">stored as</th><th scope="col">a token</th><th scope="col">in all</th><th scope="col">of this one</th>
        <th scope="col">attention changes by up to</th><th scope="col">KL, mean and most</th><th scope="col">greedy text</th>
      </tr></thead>
      <tbody>
        ${losses.map(
          ({ form, loss }) => html`<tr key=${formName(form, all)}>
            <th scope="row">${formName(form, all)} <small>${form.kvHeads === all ? DTYPES[form.dtype].how : "by their mean, not trained for it"}</small></th>
            <td>${bytes(loss.per_position)}</td>
            <td>${bytes(loss.bytes)}</td>
            <td>${percent(loss.per_position / own)}</td>
            <td><${Furthest} run=${run} look=${loss.furthest} dispatch=${dispatch} /></td>
            <td>${significant(lossOf(loss).mean)}, ${significant(lossOf(loss).most)}</td>
            <td>${partsInWords(lossOf(loss).parts, loss.kl.length)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>
  <p class="sheet-note muted small">
    Bytes in all are read off the tensors. KL: Σ p · ln(p ÷ q) of the next token’s chances before and after, in nats; 0 is no change. Attention is compared in the last 64 rows, all layers and heads.
    A greedy text parts where its likeliest token is another one.
  </p>`;
}

function Furthest({ run, look, dispatch }) {
  const { layer, head, query, key, was, became } = look;
  const select = () => dispatch({ type: "select", selection: { layer, head, query, key, view: "head" } });
  return html`${fixed(Math.abs(was - became), 3)}
    <small>${quoted(run.tokens[query])} on ${quoted(run.tokens[key])}: ${fixed(was, 3)} → ${fixed(became, 3)}</small>
    ${" "}<button class="button small" type="button" onClick=${select}>layer ${layer}, head ${head}</button>`;
}

function partsInWords(parts, steps) {
  if (!parts) return `the same in ${counted(steps, "step")}`;
  return `parts at step ${parts.step}: ${quoted(parts.became)} in place of ${quoted(parts.was)}`;
}
