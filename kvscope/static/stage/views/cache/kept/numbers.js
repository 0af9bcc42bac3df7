/** The policies beside each other, and beside the run. */

import { html } from "htm/preact";
import { bytes, percent } from "../../../../shared/facts/format.js";
import { Badge } from "../../../../shared/ui/badge.js";
import { Table } from "../../../../shared/ui/table.js";
import { msg } from "../../../../shared/words/msg.js";
import { small } from "../../../facts/small-numbers.js";
import { changeText } from "../forms.js";
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
          `${small(result.mean)}, ${small(result.most)}`,
          changeText(result.change, result.kl.length),
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
