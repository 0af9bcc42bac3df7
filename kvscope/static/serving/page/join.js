/** A prompt of the viewer, which joins the running workload. */

import { html } from "htm/preact";
import { mostOf } from "../../shared/log/limits.js";
import { Form } from "../../shared/ui/form.js";
import { msg } from "../../shared/words/msg.js";

/** @param {{state: Object, limits: import("../../shared/log/limits.js").Limits, live: boolean}} props */
export function Join({ state: { run, own, starting, actions }, limits, live }) {
  const { text, problem } = own;
  return html`<${Form} class="join row" aria-label=${msg`Your own prompt`} onSubmit=${() => actions.sendOwn(live)}>
    <input type="text" autocomplete="off" aria-label=${msg`Your prompt`} placeholder=${msg`Add a prompt of your own`} maxlength=${mostOf(limits, "workload", "prompt")} value=${text}
      ...${problem ? { "aria-invalid": "true", "aria-describedby": "join-wrong" } : {}} onInput=${(event) => actions.putOwn(event.currentTarget.value)} />
    <button class="button" disabled=${starting}>${live ? msg`Send now` : run ? msg`Run again with your prompt` : msg`Run with your prompt`}</button>
    ${problem && html`<p class="own-wrong word-bad breaks" id="join-wrong" role="alert">${problem}</p>`}
  <//>`;
}
