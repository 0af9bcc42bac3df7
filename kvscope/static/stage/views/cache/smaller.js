/** The run's tokens with K and V stored in fewer bits or of fewer heads: bytes, and how the results change. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { OF_ORIGINAL } from "../../../shared/facts/changes.js";
import { bytes, fixed, percent, quoted, significant } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Table } from "../../../shared/ui/table.js";
import { msg } from "../../../shared/words/msg.js";
import { changeText, DTYPES, formName, lossOf, smallerForms } from "./forms.js";
import { NEEDS_MODEL, Start } from "./twin-control.js";

export function Smaller({ run, ready, client, dispatch }) {
  const [losses, setLosses] = useState([]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const unmounted = useRef(false);
  useEffect(() => {
    unmounted.current = false;
    return () => {
      unmounted.current = true;
    };
  }, []);
  const forms = smallerForms(run.open.model);
  const measure = async () => {
    setBusy(true);
    setProblem(null);
    setLosses([]);
    try {
      for (const stored of forms) {
        const loss = await client.ask("smaller")({ run: run.id, dtype: stored.dtype, kv_heads: stored.kvHeads });
        if (unmounted.current) return;
        setLosses((before) => [...before, { stored, loss }]);
      }
    } catch (refusal) {
      setProblem(refusal);
    }
    setBusy(false);
  };
  if (run.open.study) return null;
  return html`<h4 data-names="smaller">${msg`K and V stored in fewer bytes`} <${Badge} origin="measured" /></h4>
    <p class="sheet-say">
      ${msg`The model runs the same tokens several times: once with K and V unchanged, and with fewer bits or fewer KV heads. Each step is compared.`}
    </p>
    ${
      run.open.changed
        ? html`<p class="sheet-say muted">${OF_ORIGINAL}</p>`
        : html`<${Start}
            label=${busy ? msg`Measuring ${losses.length + 1} of ${forms.length}…` : losses.length ? msg`Measure again` : msg`Measure on this run`}
            isMain=${losses.length === 0} busy=${busy || run.steps.length === 0} why=${ready ? null : NEEDS_MODEL} problem=${problem?.message} onStart=${measure}
          />`
    }
    ${losses.length > 0 && html`<${Losses} run=${run} losses=${losses} dispatch=${dispatch} />`}`;
}

function Losses({ run, losses, dispatch }) {
  const { kv_heads: all, layers, head_dim: width, element_bytes: size } = run.open.model;
  const own = 2 * layers * all * width * size;
  return html`<${Table} name=${msg`Differences of smaller caches`} kind="long-words"
    columns=${[
      { head: msg`stored as` },
      { head: msg`per token` },
      { head: msg`in total` },
      { head: msg`relative size` },
      { head: msg`largest change of attention`, words: true },
      { head: msg`KL, mean and largest` },
      { head: msg`greedy text`, words: true },
    ]}
    rows=${losses.map(({ stored, loss }) => {
      const { mean, most, change } = lossOf(loss);
      return {
        head: html`${formName(stored, all)} <small>${stored.kvHeads === all ? DTYPES[stored.dtype].how : msg`averaged heads; the model is not trained for this`}</small>`,
        cells: [
          bytes(loss.per_position),
          bytes(loss.bytes),
          percent(loss.per_position / own),
          html`<${Furthest} run=${run} look=${loss.furthest} dispatch=${dispatch} />`,
          `${significant(mean)}, ${significant(most)}`,
          changeText(change, loss.kl.length),
        ],
      };
    })}
  />
  <p class="sheet-note muted small">
    ${msg`Total bytes are the size of the tensors. KL: Σ p · ln(p ÷ q) of the next token’s probabilities before and after, in nats; 0 means no change. Attention is compared in the last 64 rows of all layers and heads. A greedy text changes at the first step with another most likely token.`}
  </p>`;
}

function Furthest({ run, look, dispatch }) {
  const { layer, head } = look;
  const [query, key] = [look.query, look.key].map((position) => quoted(run.tokens[position]));
  const [before, after] = [look.was, look.became].map((weight) => fixed(weight, 3));
  const select = () =>
    dispatch({ type: "select", selection: { layer, head, query: look.query, key: look.key, view: "head" } });
  return html`${fixed(Math.abs(look.was - look.became), 3)}
    <small>${msg`${query} on ${key}: ${before} → ${after}`}</small>
    ${" "}<button class="button small" type="button" onClick=${select}>${msg`layer ${layer}, head ${head}`}</button>`;
}
