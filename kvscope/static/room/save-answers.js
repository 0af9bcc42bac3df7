/** Saves the answers to a question in a note of the run that the room shows, or those to all questions as text. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { isHere } from "../shared/log/device.js";
import { mostOf } from "../shared/log/limits.js";
import { linkTo } from "../shared/log/root.js";
import { parseHash } from "../shared/state/location.js";
import { Copied } from "../shared/ui/copied.js";
import { msg } from "../shared/words/msg.js";
import { inWords, shortened } from "./answers.js";

/** @param {{limits: import("../shared/log/limits.js").Limits, question: Object, revealed: Object[], shown: import("./place.js").Shown|null, client: () => Object}} props */
export function SaveAnswers({ limits, question, revealed, shown, client }) {
  const [saved, setSaved] = useState(/** @type {string|null} */ (null));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const stage = shown?.stage ?? null;
  const mayShare = stage !== null && !isHere({ id: stage.run });
  const save = async () => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const note = { step: stage?.step, text: shortened(inWords(question), mostOf(limits, "share", "text")) };
      const { id } = await client().share(stage?.run, {
        title: shortened(question.text, mostOf(limits, "share", "title")),
        notes: [note],
        open: { ...placeIn(shown?.address ?? ""), step: stage?.step },
      });
      setSaved(linkTo(`/s/${id}`));
    } catch (refusal) {
      setProblem(refusal);
    }
    setBusy(false);
  };
  return html`<details class="fold">
    <summary>${msg`Save the answers`}</summary>
    <div class="stack wide">
      ${
        mayShare &&
        html`<p>${msg`Makes a link to the shown run, with the question and its answers as a note on this step.`}</p>
        <p><button type="button" class="button" aria-disabled=${busy} onClick=${save}>${msg`Save them with the run`}</button></p>
        ${saved && html`<${Copied} name=${msg`Link`} value=${saved} />`}
        ${problem && html`<p class="word-bad" role="alert">${problem.detail || problem.title}</p>`}`
      }
      <${AllAnswers} revealed=${revealed} />
    </div>
  </details>`;
}

/** @returns {Object<string, string|number>} the layer, head, row, key and view of an address of the Stage */
function placeIn(address) {
  const { layer, head, query, key, view } = parseHash(/#.*/.exec(address)?.[0] ?? "");
  return { layer, head, query, key, view };
}

/** The answers to all questions that were shown in this tab, to copy. */
export function AllAnswers({ revealed }) {
  return html`<${Copied} name=${msg`All answers so far, as text`} value=${revealed.map(inWords).join("\n\n")} lines=${true} />`;
}
