/** The policies beside each other, and beside the run. */

import { html } from "htm/preact";
import { bytes, percent, quoted } from "../../../../shared/facts/format.js";
import { Badge } from "../../../../shared/ui/badge.js";
import { form, msg, plural } from "../../../../shared/words/msg.js";
import { small } from "../../../facts/small-numbers.js";
import { NAMES } from "./words.js";

/** @param {{run: Object, policies: {policy: string, result: Object, loss: Object}[], dispatch: Function}} props */
export function Numbers({ run, policies, dispatch }) {
  const { kv } = run.steps.at(-1).data;
  return html`<div class="sheet-wide across" tabindex="0" role="region" aria-label=${msg`What each policy keeps and loses`}>
    <table class="numbers smaller kept-numbers">
      <thead><tr>
        <th scope="col">${msg`policy`}</th>
        <th scope="col">${msg`bytes at the end`} <${Badge} origin="measured" /></th>
        <th scope="col">${msg`blocks`}</th>
        <th scope="col">${msg`attention lost, mean`} <${Badge} origin="computed" /></th>
        <th scope="col">${msg`head that loses most`}</th>
        <th scope="col">${msg`KL, mean and largest`} <${Badge} origin="computed" /></th>
        <th scope="col">${msg`next token`}</th>
      </tr></thead>
      <tbody>
        <tr>
          <th scope="row">${msg`this run: all positions`}</th>
          <td>${bytes(kv.bytes_used)}</td><td>${kv.blocks}</td><td>0</td><td>–</td><td>0</td><td>–</td>
        </tr>
        ${policies.map(
          ({ policy, result, loss }) => html`<tr key=${policy}>
            <th scope="row">${NAMES[policy]}</th>
            <td>${bytes(result.bytes)}</td><td>${result.blocks}</td>
            <td>${percent(loss.mean)}</td>
            <td><${Most} ...${loss.most} dispatch=${dispatch} /></td>
            <td>${small(result.mean)}, ${small(result.most.kl)}</td>
            <td>${differs(result)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function Most({ layer, head, share, dispatch }) {
  if (share === 0) return "–";
  const select = () => dispatch({ type: "select", selection: { layer, head, view: "head" } });
  return html`${percent(share)} <button class="button small" type="button" onClick=${select}>${msg`layer ${layer}, head ${head}`}</button>`;
}

function differs({ other, kl }) {
  if (other) return msg`differs from step ${other.step}: ${quoted(other.own)} instead of ${quoted(other.token)}`;
  return plural(kl.length, form`the same in ${kl.length} step`, form`the same in ${kl.length} steps`);
}
