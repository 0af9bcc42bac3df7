/** One side: which run it is, and the ways to choose another. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { branchStep } from "../shared/facts/branching.js";
import { eachChangeInWords } from "../shared/facts/changes.js";
import { quoted } from "../shared/facts/format.js";
import { readable } from "../shared/facts/prose.js";
import { settingsOfRun } from "../shared/facts/settings.js";
import { under } from "../shared/log/root.js";
import { msg } from "../shared/words/msg.js";
import { Picker } from "./picker.js";

const NAMES = { a: "A", b: "B" };

/**
 * @param {{side: "a"|"b", state: Object, recordings: {id: string, title: string}[], ownRuns: () => string[], client: Object,
 *   choose: (id: string) => void}} props
 */
export function Side({ side, state, recordings, ownRuns, client, choose }) {
  const { id, log, problem } = state[side];
  const [picking, setPicking] = useState(false);
  const other = state[side === "a" ? "b" : "a"];
  const pick = (chosen) => {
    setPicking(false);
    choose(chosen);
  };
  const open = picking || !id;
  return html`<section class="own-card stack box compare-side" aria-label=${msg`Run ${NAMES[side]}`}>
    <div class="line on-line between">
      <h2>${NAMES[side]}${log?.open && html` <bdi class="compare-prompt">${titleOf(log)}</bdi>`}</h2>
      ${id && html`<button class="button small still" type="button" aria-expanded=${picking} onClick=${() => setPicking(!picking)}>${picking ? msg`Close` : msg`Choose another`}</button>`}
    </div>
    ${log?.open && html`<${About} id=${id} log=${log} />`}
    ${id && !log && !problem && html`<p class="muted" role="status">${msg`Loading…`}</p>`}
    ${problem && html`<p class="own-wrong word-bad" role="alert">${problem.detail || problem.title}</p>`}
    ${open && html`<${Picker} side=${side} other=${other} recordings=${recordings} ownRuns=${ownRuns} client=${client} choose=${pick} />`}
  </section>`;
}

function titleOf(log) {
  return log.saved?.title || readable(log.open.prompt).trim();
}

function About({ id, log }) {
  const { model } = log.open;
  const what = kindOf(log);
  const address = log.saved ? `/s/${encodeURIComponent(id)}` : `/?run=${encodeURIComponent(id)}`;
  return html`<p class="muted small">
    ${what && `${what} · `}${model.name} · ${settingsOfRun(log.open)}${log.grows ? ` · ${msg`still running`}` : ""}${" "}
    <a href=${under(address)}>${msg`Open on the Stage`}</a>
  </p>`;
}

function kindOf(log) {
  const { changed } = log.open;
  if (changed) return msg`changed: ${eachChangeInWords(changed.changes, log.tokens)}`;
  const step = branchStep(log);
  const token = step === null ? null : log.steps[step]?.data.token;
  if (token) return msg`branch with ${quoted(token)}`;
  return step === null ? "" : msg`branch`;
}
