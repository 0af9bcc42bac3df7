/** The help: how to read the Stage, where to find answers, the keys, and the glossary. */

import { html } from "htm/preact";
import { loadIndex } from "../find/load-index.js";
import { useFetched } from "../loading/use-fetched.js";
import { under } from "../log/root.js";
import { language, msg } from "./msg.js";

/** In the order in which a reader meets them. */
const PARTS = [
  [
    msg`Timeline`,
    msg`The prompt in blue, then each token that the model wrote. One segment is one step. Press a segment, or press Play.`,
  ],
  [
    msg`Residual stream`,
    msg`Above each token, its numbers after each layer, the lowest layer at the bottom. Hollow cells are of an earlier step; their numbers were not stored.`,
  ],
  [
    msg`Attention`,
    msg`One strip per head shows which earlier tokens it looks at. A stronger color means more attention. Amber is this step, grey is earlier steps.`,
  ],
  [
    msg`KV cache`,
    msg`Two vectors per token and layer, stored in memory, so that no step computes earlier tokens again.`,
  ],
  [msg`Inspector`, msg`Your selection, enlarged. Its path leads from the whole model to a single multiplication.`],
];

/** Questions, and the part of the page that answers each. */
const ANSWERS = [
  [
    msg`Which head links two words?`,
    msg`In a head, press the cell in the row of one word and the column of the other. The page names the head with the largest weight there.`,
  ],
  [
    msg`What does one more token cost?`,
    msg`See the first line of the KV cache: the bytes of memory, with every factor.`,
  ],
  [msg`What did this step compute?`, msg`See the sentence under the timeline, and everything amber on the map.`],
  [msg`Why this token, not another?`, msg`Open “Why this token?” under Next token, then type any word.`],
  [
    msg`How can I send this to someone?`,
    msg`Press Share. It creates a link to this run at this step, with notes. The link works without the model.`,
  ],
  [
    msg`What if there were no cache?`,
    msg`Open “Why a cache?” under KV cache. There the model can compute the same answer without a cache.`,
  ],
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

/** @param {{keys: {label: string, text: string}[], guide: boolean, newTab: boolean}} props `guide`: how to read the Stage */
export function Help({ keys, guide, newTab }) {
  return html`
    <div class="help-first">
      ${
        guide &&
        html`<div>
          <h2>${msg`How to read this page`}</h2>
          <${Pairs} pairs=${PARTS} />
          <h2>${msg`Where to find answers`}</h2>
          <${Pairs} pairs=${ANSWERS} />
        </div>`
      }
      <div>
        <h2>${msg`Keys`}</h2>
        <dl>
          ${keys.map(
            ({ label, text }) => html`
              <dt><kbd>${label}</kbd></dt>
              <dd>${text}</dd>
            `,
          )}
        </dl>
      </div>
    </div>
    <h2>${msg`Glossary`}</h2>
    <${Terms} newTab=${newTab} />
  `;
}

/** Terms, each with a link to a place that shows it, if there is one. */
function Terms({ newTab }) {
  const { value: entries, failed } = useFetched(loadIndex);
  if (failed) return html`<p role="alert">${msg`The glossary could not be loaded: the server does not respond.`}</p>`;
  const target = newTab ? { target: "_blank", rel: "noopener" } : {};
  const show = ({ name, address }) =>
    address && html` <a ...${target} href=${under(address)} aria-label=${msg`Show ${name}`}>${msg`show me`}</a>`;
  const terms = (entries ?? []).filter(({ kind }) => kind === "term");
  const sorted = terms.toSorted((a, b) => a.name.localeCompare(b.name, language));
  return html`<${Pairs} pairs=${sorted.map((term) => [term.name, [term.text, show(term)]])} />`;
}
