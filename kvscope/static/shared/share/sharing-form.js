/** The form that creates a link to a run or a workload: its title, where it opens, notes; then the link itself. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { mostOf } from "../log/limits.js";
import { Form } from "../ui/form.js";
import { msg } from "../words/msg.js";
import { ShareLink } from "./share-link.js";
import { ShareNotes } from "./share-notes.js";
import { noteOn, partOfField, shareRequest } from "./sharing.js";

const EXPLANATION = msg`This creates a copy that cannot change, and a link to it. The link does not expire and works without the model. Anyone with the link sees everything, every prompt too.`;

/**
 * @param {{run: string, title: string, moment: Object, opens: string, named: "step"|"pass", count?: (step: number) => string,
 *   values?: (parts: Object) => Object, Embed: Function, limits: Object, client: Object}} props `run`: its id; `title`: the suggested one;
 *   `moment`: the step and selection that the link opens at, `opens`: as text; `named`: what a step is called here, `count`: its number for the
 *   reader; `values`: renders the choice of stored values, null if there is none; `Embed`: as in `ShareLink`
 */
export function SharingForm({
  run,
  title,
  moment,
  opens,
  named,
  count = String,
  values = null,
  Embed,
  limits,
  client,
}) {
  const [draft, setDraft] = useState(() => ({
    title,
    notes: [],
    atStart: false,
    text: "",
    pinned: false,
    values: "attention",
  }));
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [status, setStatus] = useState("");
  const [shared, setShared] = useState(null);
  const change = (patch) => setDraft((before) => ({ ...before, ...patch }));

  /** Returns the draft, with a note that is written but not yet added. */
  const withWritten = () => {
    if (!draft.text.trim()) return draft;
    return { ...draft, notes: [...draft.notes, noteOn(moment, draft.text, draft.pinned)], text: "" };
  };
  const share = async () => {
    if (busy) return;
    const whole = withWritten();
    setDraft(whole);
    setBusy(true);
    setProblem(null);
    setStatus("");
    try {
      setShared(await client.share(run, shareRequest(whole, moment)));
    } catch (refusal) {
      setProblem(refusal);
    }
    setBusy(false);
  };
  const back = (text) => {
    setShared(null);
    setStatus(text);
  };
  if (shared)
    return html`<${ShareLink} shared=${shared} title=${draft.title.trim()} moment=${moment} Embed=${Embed} client=${client} onBack=${back} />`;
  const part = problem && partOfField(problem.field);
  const refusalOf = (name) =>
    problem && part === name && html`<${Refusal} id=${`share-${name}-problem`} problem=${problem} />`;
  return html`<${Form} class="share-form stack wide" onSubmit=${share} novalidate>
    <p class="muted" role="status">${status || EXPLANATION}</p>
    <label class="share-field stack tight">
      <span>${msg`Title`}</span>
      <input
        type="text" name="title" dir="auto" maxlength=${mostOf(limits, "share", "title")} autocomplete="off" value=${draft.title}
        aria-invalid=${part === "title"} aria-describedby=${part === "title" ? "share-title-problem" : undefined}
        onInput=${(event) => change({ title: event.currentTarget.value })}
      />
    </label>
    ${refusalOf("title")}
    <fieldset>
      <legend>${msg`Opens at`}</legend>
      <p class=${draft.atStart ? "is-unused" : ""}>${opens}</p>
      <label class="line">
        <input type="checkbox" checked=${draft.atStart} onChange=${(event) => change({ atStart: event.currentTarget.checked })} />
        ${msg`Open at the start instead, and play`}
      </label>
      ${refusalOf("open")}
    </fieldset>
    <${ShareNotes} draft=${draft} moment=${moment} named=${named} count=${count} limits=${limits} withWritten=${withWritten} change=${change} refusal=${refusalOf("notes")} />
    ${values?.({ draft, busy, change, refusal: refusalOf("values") })}
    ${problem && part === null && html`<${Refusal} id="share-problem" problem=${problem} />`}
    <p class="share-actions"><button type="submit" class="run-button strong nowrap still" aria-disabled=${busy}>${busy ? msg`Making the link…` : msg`Make link`}</button></p>
  <//>`;
}

function Refusal({ id, problem }) {
  const { detail, title, retryAfter } = problem;
  return html`<p class="word-bad" role="alert" id=${id}>
    ${detail || title} ${retryAfter && msg`Try again in ${retryAfter} s.`}
  </p>`;
}
