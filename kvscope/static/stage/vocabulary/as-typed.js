/** The tokens of the prompt with their ids, while it is typed. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { bytesShort, fixed, integer, tokenText } from "../../shared/facts/format.js";
import { runCost } from "../../shared/facts/run-cost.js";
import { mostOf } from "../../shared/log/limits.js";
import { Badge } from "../../shared/ui/badge.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { Token } from "../../shared/ui/token.js";
import { walkButtons } from "../../shared/ui/walk-buttons.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { chosenModel, nextReadiness } from "../facts/models.js";
import { useModelValues } from "../state/use-model-values.js";

const DIALOG = async () => (await import("./embedding-dialog.js")).EmbeddingDialog;
const LABEL_CHARS = 24;
/** The typed prompt belongs to no run; the model that the server runs tokenizes it. */
const NO_RUN = { saved: null };

/** @param {{state: Object, client: Object}} props */
export function AsTyped({ state, client }) {
  const { prompt, chat, limits } = state;
  const [opened, setOpened] = useState(null);
  const length = [...prompt].length;
  const model = chosenModel(state)?.name;
  const here = { run: NO_RUN, readiness: nextReadiness(state), model };
  const wanted =
    length > 0 && length <= mostOf(limits, "run", "prompt") ? { prompt, chat, ...(model && { model }) } : null;
  const { status, values, problem } = useModelValues(here, client.tokens, wanted, "tokens");
  const isRequested = status !== "idle" && status !== "unavailable";
  // Until the newest answer arrives the last one stays, in the colour of an old one.
  const last = useRef(null);
  if (values || !isRequested) last.current = values && { ...values, chat };
  const shown = last.current;
  const most = mostOf(limits, "run", "prompt");
  return html`<section class="as-typed stack" aria-label=${msg`The prompt as tokens`}>
    <p role="status">${isRequested ? (problem?.message ?? (shown ? countText(shown) : msg`Splitting the prompt into tokens…`)) : waitingText(length, most)}</p>
    ${shown?.count > 0 && here.readiness.model && html`<${Cost} model=${here.readiness.model} shown=${shown} added=${state.maxNewTokens} />`}
    ${
      shown?.count > 0 &&
      html`<div
        class=${`as-typed-tokens row${values ? "" : " is-old"}`} role="group" tabindex="0"
        aria-label=${msg`Tokens and ids. Move with the arrow keys; open one with Enter.`} onKeyDown=${walkButtons}
      >
        ${shown.tokens.map(
          (token, place) => html`<button
            key=${place} type="button" tabindex="-1" class=${token.special ? "is-special" : ""}
            aria-label=${msg`${tokenText(token)}, id ${token.id}: open its embedding`} onClick=${() => setOpened(token)}
          ><${Token} token=${token} limit=${LABEL_CHARS} /><small>${token.id}</small></button>`,
        )}
      </div>`
    }
    ${opened && html`<${Fetched} of=${DIALOG} token=${opened} state=${here} client=${client} onClose=${() => setOpened(null)} />`}
  </section>`;
}

/** What the run will take, or why it cannot be run. */
function Cost({ model, shown, added }) {
  const room = shown.positions - shown.count;
  if (shown.count > shown.limit) return null;
  if (added > room)
    return html`<p class="word-bad">${msg`After this prompt, at most ${integer(room)} new tokens fit: a run has at most ${integer(shown.positions)} tokens in all.`}</p>`;
  const { bytes, seconds } = runCost(model, shown, shown.count, added);
  const size = bytesShort(bytes);
  return html`<p class="muted">${
    seconds === null
      ? msg`With ${integer(added)} new tokens, the run stores about ${size}.`
      : msg`With ${integer(added)} new tokens, the run stores about ${size} and computes for about ${fixed(seconds, seconds < 10 ? 1 : 0)} s.`
  } <${Badge} origin="estimated" /></p>`;
}

function waitingText(length, most) {
  if (length === 0) return msg`Type a prompt to see its tokens.`;
  if (length > most) return msg`The prompt has ${integer(length)} characters; at most ${integer(most)} are allowed.`;
  return msg`The tokens appear here when the model is ready.`;
}

function countText({ count, limit, chat }) {
  if (count === 0) return msg`The vocabulary has no token for this text.`;
  const tokens = integer(count);
  const text =
    count > limit
      ? plural(
          count,
          form`${tokens} token; a prompt may have ${integer(limit)}, and only these are shown.`,
          form`${tokens} tokens; a prompt may have ${integer(limit)}, and only these are shown.`,
        )
      : plural(
          count,
          form`${tokens} token with its id. Press it to open it.`,
          form`${tokens} tokens with their ids. Press one to open it.`,
        );
  return chat ? `${text} ${msg`The chat template is included.`}` : text;
}
