/** The page of two runs side by side. */

import { html } from "htm/preact";
import { Later } from "../shared/painting/later.js";
import { Part, Store } from "../shared/painting/part.js";
import { OwnHeader } from "../shared/ui/own-header.js";
import { Theme, usePageTheme } from "../shared/ui/use-theme.js";
import { msg } from "../shared/words/msg.js";
import { Glossary } from "../shared/words/term.js";
import { useGlossary } from "../shared/words/use-glossary.js";
import { pairsOf } from "./choices.js";
import { Comparison } from "./comparison.js";
import { KEYS } from "./keys.js";
import { Side } from "./side.js";
import { isComparable } from "./state.js";

/** A saved site may have hundreds of runs of one prompt. */
const MOST_PAIRS = 6;

/** @param {{store: Object, later: Function, watching: Object, client: Object, recordings: Object[], ownRuns: () => string[], theme: string, setTheme: Function}} props */
export function Page({ store, later, theme, ...props }) {
  const colours = usePageTheme(theme);
  return html`<${Store.Provider} value=${store}><${Later.Provider} value=${later}><${Theme.Provider} value=${colours}><${Defined} dispatch=${store.dispatch} theme=${theme} ...${props} /><//><//><//>`;
}

function Defined(props) {
  return html`<${Glossary.Provider} value=${useGlossary(props.client)}><${Part} of=${Compare} ...${props} /><//>`;
}

function Compare({ state, dispatch, watching, client, recordings, ownRuns, theme, setTheme }) {
  const { a, b, place, version } = state;
  const show = (ids) => {
    dispatch({ type: "reset" });
    for (const [side, id] of Object.entries(ids)) watching.show(side, id);
  };
  const side = (name) =>
    html`<${Side} side=${name} state=${state} recordings=${recordings} ownRuns=${ownRuns} client=${client} choose=${(id) => show({ [name]: id })} />`;
  return html`
    <${OwnHeader} here=${null} theme=${theme} setTheme=${setTheme} keys=${KEYS} />
    <main class="own-page stack wide compare">
      <div class="own-heading row between">
        <div class="stack tight">
          <h1>${msg`Two runs side by side`}</h1>
          <p class="muted">${msg`Choose two runs: of the same prompt, of different prompts, or of different models. The page aligns their tokens and shows where they part, and what differs inside.`}</p>
        </div>
      </div>
      ${!a.id && !b.id && html`<${Pairs} pairs=${pairsOf(recordings).slice(0, MOST_PAIRS)} show=${show} />`}
      <div class="compare-sides">
        ${side("a")}
        <button class="button compare-swap" type="button" disabled=${!a.id && !b.id} onClick=${watching.swap} title=${msg`Exchange A and B`}>⇄ ${msg`Swap`}</button>
        ${side("b")}
      </div>
      ${
        isComparable(state) &&
        html`<${Comparison} a=${a.log} b=${b.log} version=${version} place=${place} onPlace=${(to) => dispatch({ type: "place", place: to })} mine=${client.isMine} isHere=${(run) => !run.saved && !recordings.some(({ id }) => id === run.id)} />`
      }
    </main>
  `;
}

/** What to begin with, while nothing is chosen. */
function Pairs({ pairs, show }) {
  if (!pairs.length) return null;
  return html`<section class="own-card stack tight box" aria-labelledby="compare-pairs">
    <h2 id="compare-pairs">${msg`Recorded runs of the same prompt`}</h2>
    <ul class="compare-choices">
      ${pairs.map(
        ({ a, b }) =>
          html`<li key=${b.id}><button class="link-button" type="button" onClick=${() => show({ a: a.id, b: b.id })}><bdi>${a.title}</bdi> ⇄ <bdi>${b.title}</bdi></button> <span class="muted small"><bdi>${b.prompt}</bdi></span></li>`,
      )}
    </ul>
  </section>`;
}
