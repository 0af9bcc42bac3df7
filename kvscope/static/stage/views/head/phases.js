/** How many rows of the matrix one step computed, and why. */

import { html } from "htm/preact";
import { integer } from "../../../shared/facts/format.js";
import { isInherited } from "../../../shared/facts/step-rows.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

/** @param {{run: Object, newest: number}} props `newest`: the last row in sight */
export function Phases({ run, newest }) {
  return html`<ul class="head-phases muted small">
    <li>${prefillLabel(run)}</li>
    ${run.reused > 0 && html`<li>${cacheLabel(run.reused)}</li>`}
    ${newest >= run.promptLength && html`<li>${msg`decode: one token per step`}</li>`}
  </ul>`;
}

/** @returns {string} what the queries of a layer read; "" for a model without local layers */
export function windowExplained(run, layer) {
  if (!run.open.model.windows) return "";
  const window = run.window(layer);
  return window === null
    ? msg`Layer ${layer} is global: a query reads all keys up to its own.`
    : msg`Layer ${layer} is local: a query reads only the newest ${integer(window)} keys.`;
}

function prefillLabel({ prefillRows, prefillPasses: passes }) {
  const rows = integer(prefillRows);
  if (passes > 1) return msg`prefill: ${rows} tokens in ${passes} passes`;
  return plural(prefillRows, form`prefill: ${rows} token`, form`prefill: ${rows} tokens at once`);
}

function cacheLabel(reused) {
  const count = integer(reused);
  return plural(reused, form`cache: K and V of ${count} token`, form`cache: K and V of ${count} tokens`);
}

/** @returns {string} why prefill computed its rows together, or a decode step only one */
export function rowsExplained(run, newest) {
  const { promptLength, reused, prefillPasses } = run;
  const count = integer(reused);
  if (isInherited(run, run.stepOfQuery(newest)))
    return msg`The run that this one branched from computed these rows. This run has their K and V in its cache.`;
  if (newest >= promptLength) return msg`Why one row per step? A step needs the token that the step before it chose.`;
  if (promptLength === 1) return msg`The prompt has one token, so there is one row. It can look only at itself.`;
  if (reused)
    return plural(
      reused,
      form`The first ${count} token has no row here: an earlier run computed its K and V, and this run reads them.`,
      form`The first ${count} tokens have no rows here: an earlier run computed their K and V, and this run reads them.`,
    );
  if (prefillPasses > 1)
    return msg`Why so many rows at once? Every prompt token is known before the first step. A long prompt takes several passes, so that other runs wait less.`;
  return msg`Why all rows at once? Every prompt token is known before the first step.`;
}
