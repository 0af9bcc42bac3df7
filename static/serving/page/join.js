/** Somebody who watches asks something too, and is answered together with the others. */

import { html } from "htm/preact";
import { mostOf } from "../../shared/log/limits.js";

/** @param {{state: Object, limits: import("../../shared/log/limits.js").Limits, live: boolean}} props */
export function Join({ state: { run, own, starting, actions }, limits, live }) {
  const submit = (event) => {
    event.preventDefault();
    actions.askOwn(live);
  };
  const { text, problem } = own;
  return html`<form class="join row" aria-label="Your own question" onSubmit=${submit}>
    <input type="text" autocomplete="off" aria-label="Your question" placeholder="Ask something, and join them" maxlength=${mostOf(limits, "workload", "prompt")} value=${text}
      ...${problem ? { "aria-invalid": "true", "aria-describedby": "join-wrong" } : {}} onInput=${(event) => actions.putOwn(event.currentTarget.value)} />
    <button class="button" disabled=${starting}>${live ? "Ask now" : run ? "Run again and ask" : "Run and ask"}</button>
    ${problem && html`<p class="own-wrong word-bad breaks" id="join-wrong" role="alert">${problem}</p>`}
  </form>`;
}
