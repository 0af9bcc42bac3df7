/** The bytes of one run's cache and of its log. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { bytesShort, integer, times } from "../../shared/facts/format.js";
import { under } from "../../shared/log/root.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";
import { runOf } from "./costs.js";

/** @param {{id: string|null, client: Object, positionBytes: number|null}} props `positionBytes`: null while the engine is not ready */
export function OwnRun({ id, client, positionBytes }) {
  const [{ status, problem }, setState] = useState({ status: null, problem: "" });
  useEffect(() => {
    if (!id) return;
    client.status(id).then(
      (loaded) => setState({ status: loaded, problem: "" }),
      (error) => setState({ status: null, problem: error.message }),
    );
  }, [id, client]);
  if (!id) return null;
  return html`<section class="own-card stack box" aria-label=${msg`One run`}>
    <h2>${msg`One run: its cache beside its log`}</h2>
    ${problem && html`<p role="alert">${problem}</p>`}
    ${status?.steps > 0 && html`<${Sizes} status=${status} positionBytes=${positionBytes} />`}
  </section>`;
}

function Sizes({ status, positionBytes }) {
  const { rows, cacheBytes, logBytes } = runOf(status, positionBytes ?? 0);
  return html`
    <p>${msg`“${status.prompt}”: ${integer(rows)} tokens were fed.`} <a href=${under(`/?run=${status.id}`)}>${msg`Open this run`}</a></p>
    <p>${msg`Its log has ${bytesShort(logBytes)} in the database.`} <${Badge} origin="measured" /></p>
    ${
      positionBytes === null
        ? html`<p>${msg`The size of its cache is known when the engine is ready.`}</p>`
        : html`<p>${msg`Its KV cache took ${integer(rows)} × ${integer(positionBytes)} B = ${bytesShort(cacheBytes)}, ${times(cacheBytes / logBytes)} the bytes of the log.`} <${Badge} origin="computed" /></p>`
    }
    <p class="muted">${msg`The log holds tokens, logits, attention weights and times, but no K and V. It can be copied and opened anywhere; the cache can only be used where the weights are.`}</p>`;
}
