/** Before anything ran here: a recorded workload, or what this page will show; and one button. */

import { html } from "htm/preact";
import { counted } from "../../shared/facts/format.js";
import { under } from "../../shared/log/root.js";
import { PRESETS } from "../asked.js";

/** What is in sight is not this server's doing, and how to have it do the same. @param {{state: Object}} props */
export function Recorded({ state }) {
  const { log, held, waits, starting, actions } = state;
  const { name } = log.open.model;
  return html`<div class="serving-recorded row wide between" role="group" aria-label="Recorded">
    <p><b>Recorded.</b> What you see really happened when ${counted(log.study.requests.length, "person", "people")} asked ${name} at once. It comes with KVScope.</p>
    <button type="button" class="button is-main" disabled=${Boolean(held || waits || starting)} onClick=${actions.run}>Run your own</button>
  </div>`;
}

/** @param {{state: Object, framed: boolean}} props `framed`: nothing can be started */
export function Empty({ state, framed }) {
  const { run, log, missing, asked, starting, held, waits, actions } = state;
  if (missing) return null;
  if (log?.foreign)
    return html`<p class="own-wrong word-bad breaks" role="alert">That run is of one person alone. <a href=${under(`/?run=${run}`)} target=${framed ? "_blank" : null}>The Stage shows it.</a></p>`;
  if (run || starting)
    return html`<p class="empty muted centred" role="status">${log?.close ? "Nothing was computed in this run." : "Waiting for the first pass…"}</p>`;
  if (framed) return html`<p class="empty muted centred">This address names no run to be shown.</p>`;
  const people = asked.people === PRESETS[0].asked().people ? "nine" : asked.people;
  return html`<section class="serving-empty" aria-label="What this shows">
    <p class="row"><button type="button" class="button is-main is-large" disabled=${Boolean(held || waits)} onClick=${actions.run}>Let ${people} people ask</button>
      <span class="muted">The model on this server really answers them, in a few seconds. All that is shown then is measured.</span></p>
    <ul>
      ${SHOWS.map(
        ({ name, says, picture }) => html`<li key=${name} class="own-card stack box">
          <svg viewBox="0 0 200 76" aria-hidden="true">${picture}</svg><h2>${name}</h2><p>${says}</p>
        </li>`,
      )}
    </ul>
  </section>`;
}

const LANES = [
  [8, 150],
  [34, 96],
  [62, 118],
];

/** Sketches of what is to come, without a number: nothing was measured yet. */
const SHOWS = [
  {
    name: "Several people ask at once",
    says: "A lane for each of them. Who comes later joins while the others are still being answered.",
    picture: html`<g>
      ${[0, 1, 2, 3, 4].map((at) => html`<rect key=${at} class="band" x=${20 + at * 40} width="18" height="76" />`)}
      ${LANES.map(
        ([x, width], at) => html`<g key=${at} class=${`owner-${at + 1}`}>
          <rect class="sketch-life" x=${x} y=${12 + at * 22} width=${width} height="6" /><rect class="sketch-read" x=${x} y=${7 + at * 22} width="18" height="16" rx="3" />
          ${[1, 2, 3, 4, 5].map((tick) => x + 18 + tick * 20 < x + width && html`<rect key=${tick} class="sketch-word" x=${x + 18 + tick * 20} y=${6 + at * 22} width="2" height="18" />`)}
        </g>`,
      )}
    </g>`,
  },
  {
    name: "Each pass of the model serves all of them",
    says: "The weights are read once for all rows of a pass, and a token comes out for each person.",
    picture: html`<g>
      ${[0, 1, 2].map(
        (at) => html`<g key=${at} class=${`owner-${at + 1}`}>
          <rect class="sketch-owner" x="10" y=${10 + at * 21} width="14" height="14" rx="3" /><rect class="sketch-read" x="30" y=${14 + at * 21} width="38" height="6" rx="2" />
          <path class="sketch-line" d=${`M70,${17 + at * 21}H150`} /><rect class="sketch-out" x="150" y=${10 + at * 21} width="38" height="14" rx="3" />
        </g>`,
      )}
      <rect class="sketch-weights" x="86" y="3" width="46" height="70" rx="6" />
    </g>`,
  },
  {
    name: "Memory is handed out in blocks",
    says: "The engine’s own block pool: whose each block is, how full it is, and which ones several people share.",
    picture: html`<g>
      ${Array.from({ length: 24 }, (_, at) => {
        const owner = [1, 1, 2, 3, 3, 1, 2, 2, 3][at];
        return html`<rect key=${at} class=${owner ? `sketch-owner owner-${owner}` : "block-free"} x=${5 + (at % 8) * 24} y=${3 + Math.floor(at / 8) * 24} width="20" height="20" rx="4" />`;
      })}
    </g>`,
  },
];
