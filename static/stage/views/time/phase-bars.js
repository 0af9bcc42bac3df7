/** What one token costs in the two phases, as pairs of bars, each pair to its own largest. */

import { html } from "htm/preact";
import { bytesShort, milliseconds, short } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";

const PAIRS = [
  { id: "flopsPerToken", name: "arithmetic", origin: "computed", write: (value) => short(value, "FLOP") },
  { id: "readPerToken", name: "memory read", origin: "computed", write: bytesShort },
  { id: "msPerToken", name: "time", origin: "measured", write: milliseconds },
];

/** @param {{prefill: Object, decode: Object, alike: boolean, disturbed: boolean}} props of `phaseFacts`; `alike`: whether both read weights in one format; `disturbed`: the times of one of the two are */
export function PhaseBars({ prefill, decode, alike, disturbed }) {
  const pairs = PAIRS.filter(({ id }) => (alike || id !== "readPerToken") && !(disturbed && id === "msPerToken"));
  return html`<dl class="phase-bars stack wide">
    ${pairs.map(({ id, name, origin, write }) => {
      const most = Math.max(prefill[id], decode[id]);
      return html`<div key=${id}>
        <dt>${name} per token <${Badge} origin=${origin} /></dt>
        <${Bar} phase="prefill" value=${prefill[id]} most=${most} write=${write} />
        <${Bar} phase="decode" value=${decode[id]} most=${most} write=${write} />
      </div>`;
    })}
  </dl>`;
}

function Bar({ phase, value, most, write }) {
  const width = `width:${((100 * value) / most).toFixed(1)}%`;
  return html`<dd><span>${phase}</span><i aria-hidden="true"><u style=${width}></u></i><b>${write(value)}</b></dd>`;
}
