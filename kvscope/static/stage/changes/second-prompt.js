/** The field for a prompt that a change takes rows from, with the number of its tokens. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { mostOf } from "../../shared/log/limits.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { modelOfRun } from "../facts/models.js";
import { useModelValues } from "../state/use-model-values.js";

/** The typed prompt belongs to no run; the model of the shown run tokenizes it. */
const NO_RUN = { saved: null };

const LABELS = {
  patch: { source: msg`Second prompt` },
  steer: { source: msg`Towards the last token of`, away: msg`Away from the last token of` },
};

/**
 * @param {{member: "source"|"away", change: import("../../shared/facts/changes.js").Change, state: Object, client: Object, bad: Object,
 *   onChange: (text: string) => void}} props
 */
export function SecondPrompt({ member, change, state, client, bad, onChange }) {
  const { run, readiness, limits } = state;
  const text = change[member];
  const most = mostOf(limits, "run", "prompt");
  const length = [...text].length;
  const model = modelOfRun(state)?.name;
  const request = length > 0 && length <= most ? { prompt: text, chat: run.open.chat, ...(model && { model }) } : null;
  const { values } = useModelValues({ run: NO_RUN, readiness }, client.tokens, request, "tokens");
  const needed = change.op === "patch" ? run.promptLength : null;
  return html`<label class="stack tight small">
    <span class="muted">${LABELS[change.op][member]}</span>
    <textarea rows="2" aria-label=${LABELS[change.op][member]} dir="auto" spellcheck=${false} maxlength=${most} value=${text} onInput=${(event) => onChange(event.target.value)} ...${bad}></textarea>
    <span class=${values && needed !== null && values.count !== needed ? "word-bad" : "muted"} role="status">${values ? countInWords(values.count, needed) : emptyInWords(text, needed)}</span>
  </label>`;
}

function emptyInWords(text, needed) {
  if (text !== "") return msg`Counting tokens…`;
  if (needed === null) return msg`Type a prompt; its last token counts.`;
  return plural(
    needed,
    form`Type a prompt of ${integer(needed)} token, as the run’s prompt has.`,
    form`Type a prompt of ${integer(needed)} tokens, as the run’s prompt has.`,
  );
}

function countInWords(count, needed) {
  const tokens = plural(count, form`${integer(count)} token`, form`${integer(count)} tokens`);
  if (needed === null) return msg`${tokens}.`;
  if (count === needed) return msg`${tokens}, as many as the run’s prompt.`;
  return msg`${tokens}; the run’s prompt has ${integer(needed)}. Rows are taken at the same positions, so both need equally many.`;
}
