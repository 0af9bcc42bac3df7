/** Number formats: bytes, range, use, and one number stored in each. */

import { html } from "htm/preact";
import { Badge } from "../../shared/ui/badge.js";
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

/** @param {{value: number, largest: number, fields: *, model: Object}} props `fields`: of the number and of the group's largest */
export function FormatTable({ value, largest, fields, model }) {
  return html`<section class="own-card stack box" aria-label=${msg`Number formats`}>
    <h2>${msg`Number formats, and one number stored in each`} <${Badge} origin="computed" /></h2>
    ${fields}
    <div class="across" tabindex="0" role="region" aria-label=${msg`Table of number formats`}><table class="learn-table formats">
      <thead><tr>
        <th scope="col">${msg`format`}</th><th scope="col" class="is-number">${msg`stored`}</th><th scope="col" class="is-number">${msg`error`}</th><th scope="col" class="is-number">${msg`bits`}</th><th scope="col" class="is-number">${msg`bytes`}</th>
        <th scope="col" class="is-number">${msg`largest`}</th><th scope="col" class="is-number">${msg`smallest above 0`}</th><th scope="col" class="is-number">${msg`step at 1`}</th>
        <th scope="col">${msg`sign, exponent, fraction`}</th><th scope="col">${msg`use`}</th>
      </tr></thead>
      <tbody>${FORMATS.map((format) => html`<${Line} key=${format.id} format=${format} value=${value} largest=${largest} held=${heldIn(model, format)} />`)}</tbody>
    </table></div>
    <p class="muted learn-say">${msg`A number is rounded to the nearest that the format has, ties to even. A number that is too large becomes infinity, in fp8 e4m3 the largest number, as in torch.`}
      ${" "}${msg`int8 and int4 store whole numbers from −127 to 127 and from −7 to 7; the scale is the group’s largest number ÷ 127 or ÷ 7, rounded to fp16, as in this engine’s smaller caches.`}</p>
  </section>`;
}

function Line({ format, value, largest, held }) {
  const { stored: found, code, scale } = stored(value, format, largest);
  const isFloat = format.kind === "float";
  const bits = bitsOf(found, format);
  return html`<tr>
    <th scope="row" class="mono strong nowrap">${format.id}</th>
    <td class="is-number"><b>${plain(found)}</b></td><td class="is-number">${errorText(found, value)}</td>
    <td class="is-number">${format.bits}</td><td class="is-number">${format.bytes}</td>
    <td class="is-number">${isFloat ? plain(format.most) : msg`${format.most} × scale`}</td>
    <td class="is-number">${isFloat ? plain(smallestOf(format)) : msg`scale`}</td>
    <td class="is-number">${isFloat ? plain(stepAtOne(format)) : msg`scale`}</td>
    <td class="mono nowrap">${
      bits
        ? html`${bits.sign} <span class="muted">${bits.exponent}</span> <b>${bits.fraction}</b>`
        : isFloat
          ? "–"
          : msg`${code} × ${plain(scale)}`
    }</td>
    <td>${held && html`<b>${held}</b> `}${USES[format.id]}</td>
  </tr>`;
}

/** What of the model is stored so. */
function heldIn({ weights }, { id }) {
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

function errorText(found, value) {
  if (found === value) return "0";
  if (!Number.isFinite(found)) return "–";
  const share = value === 0 ? null : Math.abs((found - value) / value);
  return share === null ? plain(found - value) : msg`${plain(Number((100 * share).toPrecision(2)))} %`;
}
