/** Chooses a run: this browser's own, the family of the run on the other side, a recording, or a pasted link. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { Form } from "../shared/ui/form.js";
import { msg } from "../shared/words/msg.js";
import { idIn, isRun } from "./address.js";
import { familyChoices, ownChoices } from "./choices.js";

/** The newest of this browser's runs that are listed; each takes a request. */
const MOST_OWN = 10;

/**
 * @param {{side: "a"|"b", other: Object, recordings: {id: string, title: string}[], ownRuns: () => string[], client: Object,
 *   choose: (id: string) => void}} props `ownRuns`: ids, newest first
 */
export function Picker({ side, other, recordings, ownRuns, client, choose }) {
  const family = useFamilyOf(client, other);
  const own = useOwn(client, ownRuns);
  const offered = (runs, except = []) => runs.filter(({ id }) => ![other.id, ...except].includes(id));
  const listed = family.map(({ id }) => id);
  return html`<div class="compare-picker stack">
    <${Pasted} side=${side} choose=${choose} />
    <${Choices} title=${msg`Related to the other run`} runs=${offered(family)} choose=${choose} />
    <${Choices} title=${msg`Your runs`} runs=${ownChoices(offered(own, listed))} choose=${choose} />
    <${Choices} title=${msg`Recordings`} runs=${offered(recordings)} choose=${choose} />
  </div>`;
}

function Pasted({ side, choose }) {
  const [problem, setProblem] = useState("");
  const onSubmit = (event) => {
    const id = idIn(event.currentTarget.elements.namedItem("link").value);
    if (id) choose(id);
    else setProblem(msg`There is no run or saved session in this text. Paste the address of one, or its id.`);
  };
  const field = `compare-link-${side}`;
  return html`<${Form} class="stack tight" onSubmit=${onSubmit}>
    <label for=${field}>${msg`Link or id of a run or a saved session`}</label>
    <div class="line">
      <input id=${field} name="link" type="text" class="grow" autocomplete="off" spellcheck=${false} required aria-invalid=${problem ? "true" : null} />
      <button class="button still" type="submit">${msg`Show`}</button>
    </div>
    ${problem && html`<p class="word-bad" role="alert">${problem}</p>`}
  <//>`;
}

function Choices({ title, runs, choose }) {
  if (!runs.length) return null;
  return html`<div class="stack tight">
    <h3>${title}</h3>
    <ul class="compare-choices">
      ${runs.map(({ id, title: name, about = "", below = false }) => html`<li key=${id} class=${below ? "is-below" : null}><button class="link-button" type="button" onClick=${() => choose(id)}><bdi>${name}</bdi></button>${about && html` <span class="muted small">${about}</span>`}</li>`)}
    </ul>
  </div>`;
}

/** Runs that a branch, a twin or a change connects with the run on the other side. */
function useFamilyOf(client, { id, log }) {
  const [runs, setRuns] = useState([]);
  const of = id && isRun(id) && log?.open ? id : null;
  useEffect(() => {
    setRuns([]);
    if (!of) return undefined;
    let isStale = false;
    client.family(of).then(
      (family) => isStale || setRuns(familyChoices(family, log.tokens.slice(0, log.promptLength))),
      () => {},
    );
    return () => {
      isStale = true;
    };
  }, [client, of]);
  return runs;
}

function useOwn(client, ownRuns) {
  const [runs, setRuns] = useState([]);
  useEffect(() => {
    let isStale = false;
    const ids = ownRuns().slice(0, MOST_OWN);
    Promise.all(ids.map((id) => client.status(id).catch(() => null))).then((statuses) => {
      if (!isStale) setRuns(statuses.filter((status) => status?.prompt));
    });
    return () => {
      isStale = true;
    };
  }, [client, ownRuns]);
  return runs;
}
