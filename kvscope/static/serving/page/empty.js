/** Before a workload has run: the recorded one, or what this page will show; and one button. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { requestCount } from "../../shared/words/counts.js";
import { form, msg, plural } from "../../shared/words/msg.js";

/** A button that runs a workload here, beside a recorded one from another machine. @param {{state: Object}} props */
export function Recorded({ state }) {
  const { log, held, waits, starting, actions } = state;
  const { name } = log.open.model;
  const count = requestCount(log.study.requests.length);
  return html`<div class="serving-recorded row wide between" role="group" aria-label=${msg`Recorded`}>
    <p><b>${msg`Recorded.`}</b> ${msg`KVScope comes with this real recording: ${name} serves ${count} together.`}</p>
    <button type="button" class="button is-main" disabled=${Boolean(held || waits || starting)} onClick=${actions.run}>${msg`Run your own`}</button>
  </div>`;
}

/** @param {{state: Object, framed: boolean}} props `framed`: nothing can be started */
export function Empty({ state, framed }) {
  const { run, log, missing, fields, starting, held, waits, actions } = state;
  if (missing) return null;
  if (log?.foreign)
    return html`<p class="own-wrong word-bad breaks" role="alert">${msg`This is a run, not a workload.`} <a href=${under(`/?run=${run}`)} target=${framed ? "_blank" : null}>${msg`Open it on the Stage`}</a></p>`;
  if (run || starting)
    return html`<p class="empty muted centred" role="status">${log?.close ? msg`This workload ended before its first pass.` : msg`Waiting for the first pass…`}</p>`;
  if (framed) return html`<p class="empty muted centred">${msg`This address names no workload.`}</p>`;
  const count = fields.count;
  const requests = plural(Number(count), form`Run ${count} request`, form`Run ${count} requests`);
  return html`<section class="serving-empty" aria-label=${msg`What this page shows`}>
    <p class="row"><button type="button" class="button is-main is-large" disabled=${Boolean(held || waits)} onClick=${actions.run}>${requests}</button>
      <span class="muted">${msg`The model on this server answers them in a few seconds. Everything shown is measured.`}</span></p>
    <ul>
      ${SHOWS.map(
        ({ name, text, picture }) => html`<li key=${name} class="own-card stack box">
          <svg viewBox="0 0 200 76" aria-hidden="true">${picture}</svg><h2>${name}</h2><p>${text}</p>
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

/** Sketches without numbers, because nothing has been measured yet. */
const SHOWS = [
  {
    name: msg`Several requests at once`,
    text: msg`Each request has a lane. A later request joins while the others are still running.`,
    picture: html`<g>
      ${[0, 1, 2, 3, 4].map((at) => html`<rect key=${at} class="band" x=${20 + at * 40} width="18" height="76" />`)}
      ${LANES.map(
        ([x, width], at) => html`<g key=${at} class=${`owner-${at + 1}`}>
          <rect class="sketch-life" x=${x} y=${12 + at * 22} width=${width} height="6" /><rect class="sketch-read" x=${x} y=${7 + at * 22} width="18" height="16" rx="3" />
          ${[1, 2, 3, 4, 5].map((tick) => x + 18 + tick * 20 < x + width && html`<rect key=${tick} class="sketch-token" x=${x + 18 + tick * 20} y=${6 + at * 22} width="2" height="18" />`)}
        </g>`,
      )}
    </g>`,
  },
  {
    name: msg`One pass serves all of them`,
    text: msg`The engine reads the weights once for all rows of a pass. Each request gets a token.`,
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
    name: msg`Memory in blocks`,
    text: msg`The engine’s block pool: which request holds each block, how full it is, and which blocks are shared.`,
    picture: html`<g>
      ${Array.from({ length: 24 }, (_, at) => {
        const owner = [1, 1, 2, 3, 3, 1, 2, 2, 3][at];
        return html`<rect key=${at} class=${owner ? `sketch-owner owner-${owner}` : "block-free"} x=${5 + (at % 8) * 24} y=${3 + Math.floor(at / 8) * 24} width="20" height="20" rx="4" />`;
      })}
    </g>`,
  },
];
