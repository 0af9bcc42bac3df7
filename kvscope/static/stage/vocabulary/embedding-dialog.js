/** The embedding of a token, with links to the tokens nearest to it. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { isOfOtherModel } from "../../shared/log/model.js";
import { Token } from "../../shared/ui/token.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { useModelValues } from "../state/use-model-values.js";
import { Embedding } from "./embedding.js";

const LABEL_CHARS = 24;
const ELSEWHERE = msg`This run's embedding table is not stored with it, and the run’s model is not loaded.`;
const WAITING = {
  loading: msg`Loading the token's row…`,
  unavailable: msg`The token's row appears here when the model is ready.`,
  none: ELSEWHERE,
  idle: ELSEWHERE,
};

/**
 * @param {{token: Object, state: {run: Object, readiness: Object, severalModels?: boolean, model?: string}, client: Object, onClose: () => void}} props
 *   `run`: the one that has the token; `model`: that which cut the text, if it belongs to no run
 */
export function EmbeddingDialog({ token, state, client, onClose }) {
  const dialog = useRef(null);
  const [path, setPath] = useState([token]);
  const shown = path.at(-1);
  const before = path.at(-2);
  const back = before && html`<${Token} token=${before} />`;
  const { run, readiness, severalModels: several } = state;
  // An id is valid only in the table of its own model.
  const other = isOfOtherModel(run, readiness.model);
  const model = run.open ? several && run.open.model.name : state.model;
  const wanted = other ? null : { token: shown.id, ...(model && { model }) };
  const { status, values, problem } = useModelValues(state, client.embedding, wanted, "embedding");
  // The last token stays until the next one arrives; then the pressed button no longer exists, and the title takes the focus.
  const last = useRef(null);
  if (values) last.current = values;
  const title = useRef(null);
  useLayoutEffect(() => {
    if (!dialog.current.open) dialog.current.showModal();
    title.current.focus();
  }, [path]);
  // The page behind the dialog must not handle these keys.
  const onKeyDown = (event) => event.stopPropagation();
  return html`<dialog class="share popover embedding" aria-labelledby="embedding-title" ref=${dialog} onClose=${onClose} onKeyDown=${onKeyDown}>
    <div class="share-head line between">
      <h2 id="embedding-title" tabindex="-1" ref=${title}><${Token} token=${shown} limit=${LABEL_CHARS} /> <small>${msg`token ${integer(shown.id)}`}</small></h2>
      ${before && html`<button class="button" type="button" onClick=${() => setPath(path.slice(0, -1))}>${nodes`Back to ${back}`}</button>`}
      <button class="button" type="button" onClick=${() => dialog.current.close()}>${msg`Close`}</button>
    </div>
    ${
      last.current && (values || status === "loading")
        ? html`<${Embedding} embedding=${last.current} onOpen=${(next) => setPath([...path, next])} />`
        : html`<p role="status">${WAITING[status] ?? problem.message}</p>`
    }
  </dialog>`;
}
