/** The dialog that makes a link of a closed run: what it is called, where it opens, notes; then the link itself. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { EmbedButton } from "../../embed/button.js";
import { mostOf } from "../log/limits.js";
import { momentInWords, momentOf } from "../state/moment.js";
import { ShareLink } from "./share-link.js";
import { ShareNotes } from "./share-notes.js";
import { ShareValues } from "./share-values.js";
import { noteOn, partOfField, shareRefusal, shareRequest, titleFrom } from "./sharing.js";

const WHAT_IT_DOES =
  "Makes a copy that cannot change, and a link to it. The link does not expire and opens without the model. Whoever has it sees the whole run,";

/** What is typed is kept while the dialog is closed, so that notes can be written on several steps; another run starts anew. */
export function ShareDialog({ state, client }) {
  const { run } = state;
  return html`<dialog id="share" class="share popover" aria-labelledby="share-title">
    <div class="share-head line between">
      <h2 id="share-title">Share this run</h2>
      <form method="dialog"><button class="button">Close</button></form>
    </div>
    ${!shareRefusal(run) && html`<${SharingRun} key=${run.id} run=${run} moment=${momentOf(state)} limits=${state.limits} client=${client} />`}
  </dialog>`;
}

function SharingRun({ run, moment, limits, client }) {
  const values = ({ draft, busy, change, refusal }) =>
    html`<${ShareValues} run=${run.id} client=${client} busy=${busy} value=${draft.values} onChange=${(values) => change({ values })} refusal=${refusal} />`;
  return html`<${Sharing}
    run=${run.id} title=${titleFrom(run.open.prompt)} asked="its prompt" moment=${moment} opens=${momentInWords(moment)} named="step" values=${values}
    Embed=${EmbedButton} limits=${limits} client=${client}
  />`;
}

/**
 * @param {{run: string, title: string, asked: string, moment: Object, opens: string, named: string, count?: (step: number) => string,
 *   values?: (parts: Object) => Object, Embed: Function, limits: Object, client: Object}} props `run`: its id; `title`: as suggested; `asked`:
 *   what was typed that whoever opens the link will read; `moment`: in sight, which a link opens at, and in words `opens`; `named`: what a
 *   step is called, `count`: which one it is; `values`: the choice of what is kept beyond the log, where there is one; `Embed`: of `ShareLink`
 */
export function Sharing({
  run,
  title,
  asked,
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
  const [said, setSaid] = useState("");
  const [shared, setShared] = useState(null);
  const change = (patch) => setDraft((before) => ({ ...before, ...patch }));

  /** A note that is written but not added is not lost. */
  const withWritten = () => {
    if (!draft.text.trim()) return draft;
    return { ...draft, notes: [...draft.notes, noteOn(moment, draft.text, draft.pinned)], text: "" };
  };
  const share = async (event) => {
    event.preventDefault();
    if (busy) return;
    const whole = withWritten();
    setDraft(whole);
    setBusy(true);
    setProblem(null);
    setSaid("");
    try {
      setShared(await client.share(run, shareRequest(whole, moment)));
    } catch (refusal) {
      setProblem(refusal);
    }
    setBusy(false);
  };
  const back = (words) => {
    setShared(null);
    setSaid(words);
  };
  if (shared)
    return html`<${ShareLink} shared=${shared} title=${draft.title.trim()} moment=${moment} Embed=${Embed} client=${client} onBack=${back} />`;
  const part = problem && partOfField(problem.field);
  const refusalOf = (name) =>
    problem && part === name && html`<${Refusal} id=${`share-${name}-problem`} problem=${problem} />`;
  return html`<form class="share-form stack wide" onSubmit=${share} novalidate>
    <p class="muted" role="status">${said || `${WHAT_IT_DOES} ${asked} too.`}</p>
    <label class="share-field stack tight">
      <span>Title</span>
      <input
        type="text" name="title" dir="auto" maxlength=${mostOf(limits, "share", "title")} autocomplete="off" value=${draft.title}
        aria-invalid=${part === "title"} aria-describedby=${part === "title" ? "share-title-problem" : undefined}
        onInput=${(event) => change({ title: event.currentTarget.value })}
      />
    </label>
    ${refusalOf("title")}
    <fieldset>
      <legend>Opens at</legend>
      <p class=${draft.atStart ? "is-unused" : ""}>${opens}</p>
      <label class="line">
        <input type="checkbox" checked=${draft.atStart} onChange=${(event) => change({ atStart: event.currentTarget.checked })} />
        At the start instead, playing
      </label>
      ${refusalOf("open")}
    </fieldset>
    <${ShareNotes} draft=${draft} moment=${moment} named=${named} count=${count} limits=${limits} withWritten=${withWritten} change=${change} refusal=${refusalOf("notes")} />
    ${values?.({ draft, busy, change, refusal: refusalOf("values") })}
    ${problem && part === null && html`<${Refusal} id="share-problem" problem=${problem} />`}
    <p class="share-actions"><button type="submit" class="run-button strong nowrap still" aria-disabled=${busy}>${busy ? "Making the link…" : "Make link"}</button></p>
  </form>`;
}

function Refusal({ id, problem }) {
  const { detail, title, retryAfter } = problem;
  return html`<p class="word-bad" role="alert" id=${id}>
    ${detail || title}${retryAfter ? ` Try again in ${retryAfter} s.` : ""}
  </p>`;
}
