/** The cost of one token in the two phases, as pairs of bars. The longer bar of each pair has the full width. */

import { html } from "htm/preact";
import { bytesShort, milliseconds, short } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { msg } from "../../../shared/words/msg.js";

const PAIRS = [
  { id: "flopsPerToken", label: msg`arithmetic per token`, origin: "computed", write: (value) => short(value, "FLOP") },
  { id: "readPerToken", label: msg`memory read per token`, origin: "computed", write: bytesShort },
  { id: "msPerToken", label: msg`time per token`, origin: "measured", write: milliseconds },
];

/** @param {{prefill: Object, decode: Object, disturbed: boolean}} props of `phaseFacts`; `disturbed`: of at least one phase, times are */
export function PhaseBars({ prefill, decode, disturbed }) {
  const pairs = PAIRS.filter(({ id }) => !(disturbed && id === "msPerToken"));
  return html`<dl class="phase-bars stack wide">
    ${pairs.map(({ id, label, origin, write }) => {
      const most = Math.max(prefill[id], decode[id]);
      return html`<div key=${id}>
        <dt>${label} <${Badge} origin=${origin} /></dt>
        <${Bar} phase=${msg`prefill`} value=${prefill[id]} most=${most} write=${write} />
        <${Bar} phase=${msg`decode`} value=${decode[id]} most=${most} write=${write} />
      </div>`;
    })}
  </dl>`;
}

function Bar({ phase, value, most, write }) {
  const width = `width:${((100 * value) / most).toFixed(1)}%`;
  return html`<dd><span>${phase}</span><i aria-hidden="true"><u style=${width}></u></i><b>${write(value)}</b></dd>`;
}
