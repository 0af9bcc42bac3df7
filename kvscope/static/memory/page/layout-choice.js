/** How several GPUs divide the model: shown only where there are several. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { groupSizes, layoutNotes } from "../../shared/sizes/layout.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { LIMITS } from "../limits.js";
import { withoutSeparators } from "../setup.js";
import { Choice } from "./fields.js";

const EXPERTS = [
  { id: "divided", name: msg`every expert divided among all GPUs` },
  { id: "whole", name: msg`whole experts on each GPU (expert parallelism)` },
];

/** @param {{texts: Object, setup: import("../setup.js").Setup, field: Function}} props */
export function Layout({ texts, setup: { model, inputs }, field }) {
  const gpus = Number(withoutSeparators(texts.gpus));
  if (!Number.isInteger(gpus) || gpus < 2 || gpus > LIMITS.gpus) return null;
  const attention = html`<${Choice} ...${field("tp", msg`Attention on several GPUs`)} options=${groupSizes(gpus).map((size) => sizeChoice(size, gpus))} />`;
  const experts = html`<${Choice} ...${field("experts", msg`Experts on several GPUs`)} options=${EXPERTS} />`;
  const notes = layoutNotes(model, inputs).join(" ");
  return html`
    <p class="sentence-more muted">
      ${model.moe ? nodes`The GPUs divide the work: attention ${attention}, ${experts}.` : nodes`The GPUs divide the work: ${attention}.`}
    </p>
    ${notes && html`<p class="muted">${notes}</p>`}
  `;
}

function sizeChoice(size, gpus) {
  if (size === gpus) return { id: "all", name: msg`tensor parallel on all ${integer(gpus)}` };
  const [each, groups] = [integer(size), integer(gpus / size)];
  const name =
    size === 1
      ? msg`data parallel: a whole copy on each`
      : msg`data parallel in ${groups} groups, tensor parallel on the ${each} of each`;
  return { id: String(size), name };
}
