/** The prompt as the model will be given it: its tokens with their ids, while it is typed. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { counted, integer, tokenText } from "../../shared/facts/format.js";
import { useModelValues } from "../../shared/loading/use-model-values.js";
import { mostOf } from "../../shared/log/limits.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { Token } from "../../shared/ui/token.js";
import { walkButtons } from "../../shared/ui/walk-buttons.js";

const DIALOG = async () => (await import("./embedding-dialog.js")).EmbeddingDialog;
const LABEL_CHARS = 24;
/** What is typed is of no run: the model that is there is meant. */
const NO_RUN = { saved: null };

/** @param {{state: Object, client: Object}} props */
export function AsTyped({ state, client }) {
  const { prompt, chat, limits, readiness } = state;
  const [opened, setOpened] = useState(null);
  const length = [...prompt].length;
  const here = { run: NO_RUN, readiness };
  const wanted = length > 0 && length <= mostOf(limits, "run", "prompt") ? { prompt, chat } : null;
  const { status, values, problem } = useModelValues(here, client.tokens, wanted, "tokens");
  const asks = status !== "idle" && status !== "unavailable";
  // Until the newest answer is there, the one before it stands, and says by its colour that it is not it.
  const last = useRef(null);
  if (values || !asks) last.current = values && { ...values, chat };
  const cut = last.current;
  return html`<section class="as-typed stack" aria-label="The prompt as tokens">
    <p role="status">${asks ? (problem?.message ?? (cut ? cutWords(cut) : "Cutting it into tokens…")) : waitingWords(length, mostOf(limits, "run", "prompt"))}</p>
    ${
      cut?.count > 0 &&
      html`<div
        class=${`as-typed-tokens row${values ? "" : " is-old"}`} role="group" tabindex="0"
        aria-label="Tokens and ids; the arrow keys go through them, Enter opens one" onKeyDown=${walkButtons}
      >
        ${cut.tokens.map(
          (token, place) => html`<button
            key=${place} type="button" tabindex="-1" class=${token.special ? "is-special" : ""}
            aria-label=${`${tokenText(token)}, id ${token.id}: what was learned of it`} onClick=${() => setOpened(token)}
          ><${Token} token=${token} limit=${LABEL_CHARS} /><small>${token.id}</small></button>`,
        )}
      </div>`
    }
    ${opened && html`<${Fetched} of=${DIALOG} token=${opened} state=${here} client=${client} onClose=${() => setOpened(null)} />`}
  </section>`;
}

function waitingWords(length, most) {
  if (length === 0) return "Here the text is cut into tokens, as you type it.";
  if (length > most) return `${integer(length)} characters; at most ${integer(most)} are taken.`;
  return "The model is not ready yet; then the text is cut into its tokens here.";
}

function cutWords({ count, limit, chat }) {
  const template = chat ? " with the chat template" : "";
  if (count === 0) return "The vocabulary has no token for any of this.";
  if (count > limit)
    return `${counted(count, "token")}${template}; a prompt may have ${integer(limit)}, and so many are shown.`;
  return `${counted(count, "token")}${template}, each with its id. Press one for what was learned of it.`;
}
