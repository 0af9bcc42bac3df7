/** The policies beside each other, and beside the run. */

import { html } from "htm/preact";
import { bytes, percent, quoted } from "../../../../shared/facts/format.js";
import { Badge } from "../../../../shared/ui/badge.js";
import { Table } from "../../../../shared/ui/table.js";
import { form, msg, plural } from "../../../../shared/words/msg.js";
import { small } from "../../../facts/small-numbers.js";
import { NAMES } from "./words.js";

/** @param {{run: Object, policies: {policy: string, result: Object, loss: Object}[], dispatch: Function}} props */
export function Numbers({ run, policies, dispatch }) {
  const { kv } = run.steps.at(-1).data;
  return html`<${Table} name=${msg`What each policy keeps and loses`} kind="long-words"
    columns=${[
      { head: msg`policy` },
      { head: html`${msg`bytes at the end`} <${Badge} origin="measured" />` },
      { head: msg`blocks` },
      { head: html`${msg`attention lost, mean`} <${Badge} origin="computed" />` },
      { head: msg`head that loses most`, words: true },
      { head: html`${msg`KL, mean and largest`} <${Badge} origin="computed" />` },
      { head: msg`next token`, words: true },
    ]}
    rows=${[
      { head: msg`this run: all positions`, cells: [bytes(kv.bytes_used), kv.blocks, 0, "–", 0, "–"] },
      ...policies.map(({ policy, result, loss }) => ({
        head: NAMES[policy],
        cells: [
          bytes(result.bytes),
          result.blocks,
          percent(loss.mean),
          html`<${Most} ...${loss.most} dispatch=${dispatch} />`,
          `${small(result.mean)}, ${small(result.most.kl)}`,
          differs(result),
        ],
      })),
    ]}
  />`;
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
