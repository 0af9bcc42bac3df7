/** The two processes of the server as boxes, with the state in each. */

import { html } from "htm/preact";
import { bytesShort, fixed, integer, percent } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { poolOf, total } from "./costs.js";

/** @param {{state: Object}} props */
export function Places({ state }) {
  const { web, engine, engines = [engine], weights, cache, log } = state;
  return html`<div class="grid">
    <section class="own-card stack box" aria-label=${msg`Engine process`}>
      <h2>${msg`Engine process`} <${Badge} origin="measured" /></h2>
      ${engines.length > 1 ? html`<${Engines} engines=${engines} />` : html`<${Process} process=${engine} />`}
      ${engine.state !== "ready" && html`<p class="own-wrong" role="status">${msg`The engine is not ready: ${engine.message} The other numbers are complete.`}</p>`}
      ${engine.restarts > 0 && html`<p>${plural(engine.restarts, form`Restarted ${integer(engine.restarts)} time since the server started.`, form`Restarted ${integer(engine.restarts)} times since the server started.`)}</p>`}
      <${Weights} weights=${weights} />
      <${Cache} cache=${cache} />
      ${cache && html`<p class="muted">${msg`The system counts memory once it has been written. So resident memory can be less than the weights and the pool together.`}</p>`}
    </section>
    <section class="own-card stack box" aria-label=${msg`Web process`}>
      <h2>${msg`Web process`} <${Badge} origin="measured" /></h2>
      <${Process} process=${web} />
      <p>${plural(web.viewers, form`${integer(web.viewers)} live connection.`, form`${integer(web.viewers)} live connections.`)} ${msg`It holds no weights and no KV cache: it stores each frame of a run before it shows it.`}</p>
      <${Log} log=${log} />
    </section>
  </div>`;
}

function Engines({ engines }) {
  return html`<ul class="stack tight">
    ${engines.map(
      (engine) => html`<li key=${engine.name}>
        <b>${engine.name}</b> ${plural(engine.open_runs, form`${integer(engine.open_runs)} open run.`, form`${integer(engine.open_runs)} open runs.`)}
        ${engine.state === "ready" ? null : html` ${engine.message}`}
        <${Process} process=${engine} />
      </li>`,
    )}
    <li class="muted">${msg`Each engine holds the whole model and a KV cache of its own. The numbers below are those of one engine.`}</li>
  </ul>`;
}

function Process({ process: { pid, uptime_s, resident_bytes } }) {
  if (!pid) return html`<p>${msg`There is no engine process now.`}</p>`;
  const memory = resident_bytes === null ? msg`not reported by this system` : bytesShort(resident_bytes);
  return html`<p class="muted">${msg`process ${pid}, running for ${duration(uptime_s)}, resident memory (RSS) ${memory}`}</p>`;
}

/** @returns {string} "42 s", "5 min", "3.2 h", "12 days" */
function duration(seconds) {
  if (seconds < 120) return msg`${integer(seconds)} s`;
  if (seconds < 7200) return msg`${integer(seconds / 60)} min`;
  if (seconds < 172_800) return msg`${fixed(seconds / 3600, 1)} h`;
  return msg`${integer(seconds / 86_400)} days`;
}

function Weights({ weights }) {
  if (!weights) return null;
  const formats = Object.entries(weights.bytes).map(([name, bytes]) => `${name} ${bytesShort(bytes)}`);
  return html`<div class="state-held is-weights stack tight">
    <h3>${msg`Weights`} <b class="number">${bytesShort(total(weights.bytes))}</b></h3>
    <p>${msg`${weights.model}, ${integer(weights.parameters)} numbers, on ${weights.device}. In memory: ${formats.join(", ")}.`}</p>
  </div>`;
}

function Cache({ cache }) {
  if (!cache) return null;
  const { used, usedBytes } = poolOf(cache);
  const share = used / cache.blocks;
  return html`<div class="state-held is-cached stack tight">
    <h3>${msg`KV cache`} <b class="number">${bytesShort(cache.bytes)}</b></h3>
    <p>${msg`One pool on ${cache.device}, ${cache.dtype}: ${integer(cache.blocks)} blocks of ${integer(cache.block_size)} tokens, ${integer(cache.position_bytes)} B per token.`}</p>
    <span class="track is-whole" aria-hidden="true"><i style=${{ width: `${100 * share}%` }}></i></span>
    <p>${msg`In use: ${integer(used)} blocks, ${bytesShort(usedBytes)}, ${percent(share)} of the pool. Blocks of ended runs stay until others need them.`}</p>
  </div>`;
}

function Log({ log }) {
  const kind = { sqlite: msg`an SQLite file on this machine’s disk`, postgresql: msg`a PostgreSQL database` }[
    log.database
  ];
  const states = [
    msg`open: ${integer(log.open_runs)}`,
    msg`queued: ${integer(log.queued_runs)}`,
    msg`evicted: ${integer(log.evicted_runs)}`,
  ];
  return html`<div class="state-held is-output stack tight">
    <h3>${msg`Log`} <b class="number">${bytesShort(log.disk_bytes)}</b></h3>
    <p>${msg`In ${kind}. Stored: ${integer(log.runs)} runs in ${integer(log.frames)} frames (${bytesShort(log.bytes)}), ${integer(log.sessions)} saved sessions (${bytesShort(log.session_bytes)}).`}</p>
    <p>${msg`Runs now: ${states.join(", ")}.`}</p>
  </div>`;
}
