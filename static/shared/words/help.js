/** How to read the page, where its answers are, the keys, and every term with its definition. */

import { html } from "htm/preact";
import { useContext } from "preact/hooks";
import { KEYS } from "../state/keyboard.js";
import { Glossary } from "./term.js";

/** In the order in which they are met. */
const READING = [
  ["Timeline", "The prompt in blue, then each word the model wrote. One segment is one step: press it, or play."],
  [
    "Columns",
    "The residual stream, one column per token: the numbers the model holds about it, from the lowest layer up. Hollow: its step is over, and they were not kept.",
  ],
  [
    "Attention",
    "One strip per head: which earlier tokens it looks at. Darker or, in the dark theme, brighter is more; amber is of this step, grey of earlier ones.",
  ],
  ["KV cache", "Two vectors per token and layer that are kept, so that no old token has to be computed again."],
  ["Inspector", "What you choose, enlarged. Its path leads from the whole model down to a single multiplication."],
];

/** Questions the page answers, and where. */
const ANSWERS = [
  [
    "Which head links two words?",
    "Click the cell of the one's row and the other's column in a head: it names the head that looks there most.",
  ],
  ["What does one more token cost?", "KV cache, its first line; bytes of memory, with every factor named."],
  ["What did this step compute?", "The sentence under the timeline; on the map, everything amber."],
  ["Why this token, not another?", "“Why this token?” under Next token, then type any word."],
  [
    "How can I send this to someone?",
    "Share: a link to this run, at this moment, with notes. It opens without the model.",
  ],
  ["What if there were no cache?", "“Why a cache?” under KV cache: the same answer is really computed without one."],
];

function Pairs({ pairs }) {
  return html`<dl class="glossary">
    ${pairs.map(
      ([name, text]) => html`
        <dt>${name}</dt>
        <dd>${text}</dd>
      `,
    )}
  </dl>`;
}

export function Help() {
  const terms = Object.values(useContext(Glossary)).sort((a, b) => a.name.localeCompare(b.name, "en"));
  return html`
    <dialog id="help" class="help popover" aria-label="Help">
      <form method="dialog"><button class="button">Close</button></form>
      <div class="help-first">
        <div>
          <h2>Reading the page</h2>
          <${Pairs} pairs=${READING} />
          <h2>Where to find it</h2>
          <${Pairs} pairs=${ANSWERS} />
        </div>
        <div>
          <h2>Keys</h2>
          <dl>
            ${KEYS.map(
              ({ label, text }) => html`
                <dt><kbd>${label}</kbd></dt>
                <dd>${text}</dd>
              `,
            )}
          </dl>
        </div>
      </div>
      <h2>Glossary</h2>
      <${Pairs} pairs=${terms.map(({ name, text }) => [name, text])} />
    </dialog>
  `;
}
