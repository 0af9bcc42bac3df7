/** Number formats: bytes, range, use, and one number stored in each. */

import { html } from "htm/preact";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { bitsOf, FORMATS, smallestOf, stepAtOne, stored } from "./number-formats.js";
import { plain } from "./plain.js";

const USES = {
  fp32: msg`all numbers that this engine computes with; its KV cache`,
  tf32: msg`what NVIDIA tensor cores read of a float32 where TF32 is switched on; stored as 4 bytes`,
  bf16: msg`weights and training: the range of fp32 in half the bytes`,
  fp16: msg`weights; more digits than bf16, but a smaller range`,
  "fp8 e4m3": msg`weights, activations or KV cache on GPUs with FP8 units`,
  int8: msg`quantized weights or KV cache; a scale for each group`,
  int4: msg`quantized weights; two numbers in a byte, a scale for each group`,
};

const COLUMNS = [
  { head: msg`format` },
  { head: msg`stored` },
  { head: msg`error` },
  { head: msg`bits` },
  { head: msg`bytes` },
  { head: msg`largest` },
  { head: msg`smallest above 0` },
  { head: msg`step at 1` },
  { head: msg`sign, exponent, fraction`, words: true },
  { head: msg`use`, words: true },
];

/** @param {{value: number, largest: number, fields: *, model: Object}} props `fields`: of the number and of the group's largest */
export function FormatTable({ value, largest, fields, model }) {
  return html`<section class="own-card stack box" aria-label=${msg`Number formats`}>
    <h2>${msg`Number formats, and one number stored in each`} <${Badge} origin="computed" /></h2>
    ${fields}
    <${Table} name=${msg`Table of number formats`} kind="formats" columns=${COLUMNS} rows=${FORMATS.map((format) => rowOf(format, { value, largest, model }))} />
    <p class="muted learn-say">${msg`A number is rounded to the nearest that the format has, ties to even. A number that is too large becomes infinity, in fp8 e4m3 the largest number, as in torch.`}
      ${" "}${msg`int8 and int4 store whole numbers from −127 to 127 and from −7 to 7; the scale is the group’s largest number ÷ 127 or ÷ 7, rounded to fp16, as in this engine’s smaller caches.`}</p>
  </section>`;
}

function rowOf(format, { value, largest, model }) {
  const { stored: rounded, code, scale } = stored(value, format, largest);
  const isFloat = format.kind === "float";
  const note = noteOf(model, format);
  return {
    key: format.id,
    head: html`<span class="mono strong nowrap">${format.id}</span>`,
    cells: [
      html`<b>${plain(rounded)}</b>`,
      errorText(rounded, value),
      format.bits,
      format.bytes,
      isFloat ? plain(format.most) : msg`${format.most} × scale`,
      isFloat ? plain(smallestOf(format)) : msg`scale`,
      isFloat ? plain(stepAtOne(format)) : msg`scale`,
      html`<span class="mono nowrap">${isFloat ? bitsText(bitsOf(rounded, format)) : msg`${code} × ${plain(scale)}`}</span>`,
      html`${note && html`<b>${note}</b> `}${USES[format.id]}`,
    ],
  };
}

const bitsText = (bits) =>
  bits ? html`${bits.sign} <span class="muted">${bits.exponent}</span> <b>${bits.fraction}</b>` : "–";

/** Says whether some weights of the model are stored in this format. */
function noteOf({ weights }, { id }) {
  const names = {
    fp32: ["float32"],
    bf16: ["bfloat16"],
    fp16: ["float16"],
    int8: ["8-bit groups"],
    int4: ["4-bit groups"],
  }[id];
  const isThere = names?.some((name) => (weights.held[name] ?? 0) > 0);
  return isThere ? msg`Some weights of this model;` : "";
}

function errorText(rounded, value) {
  if (rounded === value) return "0";
  if (!Number.isFinite(rounded)) return "–";
  const share = value === 0 ? null : Math.abs((rounded - value) / value);
  return share === null ? plain(rounded - value) : msg`${plain(Number((100 * share).toPrecision(2)))} %`;
}
