/** What the model learned of a token, and from there on to its neighbours. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { useModelValues } from "../../shared/loading/use-model-values.js";
import { Token } from "../../shared/ui/token.js";
import { Embedding } from "./embedding.js";

const LABEL_CHARS = 24;
const ELSEWHERE = "The model of this run does not run here, and its embedding table is not stored with the run.";
const WAITING = {
  loading: "The model is asked for the token’s row…",
  unavailable: "The model is not ready yet; then the token’s row is shown here.",
  none: ELSEWHERE,
  idle: ELSEWHERE,
};

/**
 * @param {{token: Object, state: {run: Object, readiness: Object}, client: Object, onClose: () => void}} props `run`: the one that the
 *   token is of
 */
export function EmbeddingDialog({ token, state, client, onClose }) {
  const dialog = useRef(null);
  const [path, setPath] = useState([token]);
  const shown = path.at(-1);
  const before = path.at(-2);
  const { run, readiness } = state;
  // An id is a row of its own model's table, and of no other's.
  const other = run.open && readiness.model && run.open.model.sha256 !== readiness.model.sha256;
  const wanted = other ? null : { token: shown.id };
  const { status, values, problem } = useModelValues(state, client.embedding, wanted, "embedding");
  // A neighbour takes the place of the one before it once it is there, and the button that was pressed goes.
  const last = useRef(null);
  if (values) last.current = values;
  const title = useRef(null);
  useLayoutEffect(() => {
    if (!dialog.current.open) dialog.current.showModal();
    title.current.focus();
  }, [path]);
  // The keys of what lies behind are not meant.
  const onKeyDown = (event) => event.stopPropagation();
  return html`<dialog class="share popover embedding" aria-labelledby="embedding-title" ref=${dialog} onClose=${onClose} onKeyDown=${onKeyDown}>
    <div class="share-head line between">
      <h2 id="embedding-title" tabindex="-1" ref=${title}><${Token} token=${shown} limit=${LABEL_CHARS} /> <small>token ${integer(shown.id)}</small></h2>
      ${before && html`<button class="button" type="button" onClick=${() => setPath(path.slice(0, -1))}>Back to <${Token} token=${before} /></button>`}
      <button class="button" type="button" onClick=${() => dialog.current.close()}>Close</button>
    </div>
    ${
      last.current && (values || status === "loading")
        ? html`<${Embedding} found=${last.current} onOpen=${(next) => setPath([...path, next])} />`
        : html`<p role="status">${WAITING[status] ?? problem.message}</p>`
    }
  </dialog>`;
}
