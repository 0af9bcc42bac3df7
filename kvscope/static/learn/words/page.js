/** Shows the reader's words on one plane. */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { integer, percent, tokenText } from "../../shared/facts/format.js";
import { useExact } from "../../shared/loading/use-exact.js";
import { under } from "../../shared/log/root.js";
import { Badge } from "../../shared/ui/badge.js";
import { Plane } from "../../shared/ui/plane.js";
import { Token } from "../../shared/ui/token.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { Frame } from "../parts/frame.js";
import { useAddress } from "../parts/use-address.js";
import { useReadiness } from "../parts/use-readiness.js";
import { CosineTable } from "./cosine-table.js";
import { wordsOf } from "./split.js";

// Not language: words to compare.
const FIRST = { words: "cat, dog, horse, Monday, Tuesday, red, blue, seven" };

/** @param {{known: Object, client: Object, theme: string, setTheme: Function}} props */
export function Page({ known, client, theme, setTheme }) {
  const [texts, put] = useAddress(FIRST);
  const readiness = useReadiness(client);
  const ready = readiness.state === "ready";
  const { words, problem } = wordsOf(texts.words, known.words);
  const { status, values, problem: refusal } = useExact(client.words, ready && words.length > 1 ? { words } : null);
  const answer = useRef(null);
  answer.current = values ?? answer.current;
  return html`<${Frame}
    id="words" beside=${known.beside} theme=${theme} setTheme=${setTheme}
    title=${msg`Which of your words have similar embeddings?`}
    lead=${msg`Each token of the vocabulary has a row of learned numbers, its embedding. Rows that point in similar directions belong to tokens that the model treats similarly at its input.`}
  >
    <div class="learn-field stack tight">
      <label for="words">${msg`Up to ${known.words.most} words, with commas between them`}</label>
      <input id="words" type="text" class="words-field" autocomplete="off" spellcheck=${false} value=${texts.words}
        aria-invalid=${problem ? "true" : null} aria-describedby="words-say" onInput=${(event) => put("words", event.currentTarget.value)} />
      <p id="words-say" role="status">${problem || statusOf({ readiness, ready, loading: status === "loading", refused: refusal?.message })}</p>
    </div>
    ${answer.current && html`<${Shown} answer=${answer.current} model=${readiness.model} />`}
  <//>`;
}

function statusOf({ readiness, ready, loading, refused }) {
  if (refused) return refused;
  if (!ready) return msg`The rows come from the model, which is not ready. ${readiness.message}`;
  if (loading) return msg`Loading the rows…`;
  return msg`Each word is read with a space before it, as inside a sentence.`;
}

function Shown({ answer, model }) {
  const words = useMemo(() => answer.words.map(({ word }) => word), [answer]);
  const { points, kept } = answer.plane;
  const split = answer.words.filter(({ tokens }) => tokens.length > 1);
  return html`<div class="words-shown grid">
    <section class="own-card stack box" data-names="plane" aria-label=${msg`Projection`}>
      <h2>${msg`Their rows on a plane`} <${Badge} origin="computed" /></h2>
      <${Plane} labels=${words} points=${points} name=${msg`Projection of ${words.join(", ")} to a plane`} />
      <p class="muted">${msg`The rows have ${integer(answer.width)} numbers each. The picture shows the 2 directions in which these ${integer(words.length)} rows differ most, and keeps ${percent(kept)} of their variance. Words that are near each other here may be far apart in the table: compare the cosines.`}</p>
    </section>
    <${CosineTable} words=${words} table=${answer.cosines} />
  </div>
  ${split.length > 0 && html`<${Split} split=${split} />`}
  <p class="muted">${nodes`${model?.name ?? ""}. To see the nearest of all rows of one token, type a prompt on ${html`<a href=${under("/")}>${msg`the Stage`}</a>`} and press the token.`}</p>`;
}

/** Lists words of several tokens. */
function Split({ split }) {
  return html`<section class="own-card stack box" aria-label=${msg`Words of several tokens`}>
    <h2>${msg`Words of several tokens`}</h2>
    <p class="muted">${msg`These words have no row of their own. Their dot is the mean of their tokens’ rows, which the model itself never computes.`}</p>
    <ul class="stack tight">${split.map(
      ({ word, tokens }) =>
        html`<li key=${word}><b>${word}</b>: ${tokens.map((token, at) => html`${at > 0 && " + "}<${Token} key=${at} token=${token} />`)} <span class="visually-hidden">${tokens.map(tokenText).join(", ")}</span></li>`,
    )}</ul>
  </section>`;
}
