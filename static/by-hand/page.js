/** The worked examples: a derivation whose every number opens, and whose every input can be changed. */

import { html } from "htm/preact";
import { ShareAddress } from "../embed/share-address.js";
import { under } from "../shared/log/root.js";
import { OwnHeader } from "../shared/ui/own-header.js";
import { Inputs } from "./inputs.js";
import { Matrix, Title } from "./matrix.js";
import { Misprints } from "./misprint-card.js";
import { Predict } from "./predict-card.js";
import { Projections } from "./projections.js";
import { RealHead } from "./real-head.js";
import { operandsOf, sayCell, workingOf } from "./table.js";
import { useExample } from "./use-example.js";
import { Working } from "./working.js";

const PRINTS = [
  { name: "Print worksheet", sheet: "blank" },
  { name: "Print with answers", sheet: "answers" },
];
/** Title, name, and what of a real step is not there. */
const HEADINGS = {
  a: [
    "Check attention with a pencil: “the cat sat”",
    "A · 2 numbers",
    "One head alone: no positions, no residual stream, norm or MLP, no next token.",
  ],
  b: [
    "Check attention with a pencil: “I love” → “AI”",
    "B · 4 numbers, 2 heads",
    "One attention layer alone: no residual stream, norm or MLP between it and the LM head.",
  ],
};

/** @param {{example: "a"|"b", framed: boolean, real: Object|null, theme: string, setTheme: Function}} props */
export function Page({ example, framed, real, theme, setTheme }) {
  const { shown, open, waiting, predict, search, actions } = useExample({
    example,
    window,
    keepAddress: framed,
  });
  return html`
    ${!framed && html`<${OwnHeader} here="by-hand" theme=${theme} setTheme=${setTheme} />`}
    <main class="own-page stack wide by-hand">
      <${Heading} ...${{ example, framed, shown, predict, search, actions }} />
      ${shown ? html`<${Derivation} ...${{ shown, open, predict, real, theme, framed, actions }} />` : html`<p class="by-hand-waits muted centred" role="status">${waiting || "The engine works it out…"}</p>`}
    </main>
  `;
}

function Heading({ example, framed, shown, predict, search, actions }) {
  const [title, , without] = HEADINGS[example];
  const base = framed ? "/embed/by-hand/" : "/by-hand/";
  return html`<div class="own-heading row between">
    <div>
      <h1>${title}</h1>
      <p>One row is one token, read left to right. <b>Below a matrix, each cell is its row times its column.</b></p>
      <p class="muted">${without}</p>
    </div>
    <div class="own-tools row">
      <nav class="choice" aria-label="Examples">
        ${Object.entries(HEADINGS).map(([name, [, label]]) =>
          name === example
            ? html`<b aria-current="page">${label}</b>`
            : html`<a href=${under(`${base}${name}`)}>${label}</a>`,
        )}
      </nav>
      <div class="choice" role="group" aria-label="What is shown">
        <button type="button" aria-pressed=${predict === null} onClick=${() => actions.predict(false)}>All numbers</button>
        <button type="button" aria-pressed=${predict !== null} onClick=${() => actions.predict(true)}>Predict it</button>
      </div>
      <button type="button" class="button" disabled=${!shown?.canUndo} onClick=${actions.undo}>Undo</button>
      <button type="button" class="button" disabled=${!shown || shown.plain} onClick=${actions.reset}>Reset</button>
      ${
        framed
          ? html`<a class="button" target="_blank" rel="noopener" href=${under(`/by-hand/${example}${search}`)}>Open in KVScope</a>`
          : html`<${ShareAddress}
              path=${`/by-hand/${example}${search}`} title=${title} prints=${PRINTS}
              say="All that was changed is in the address: nothing is stored."
            />`
      }
    </div>
  </div>`;
}

function Derivation({ shown: bare, open, predict, real, theme, framed, actions }) {
  const { table, moment, cell, answer } = bare;
  const solid = new Set(operandsOf(workingOf(table, cell)));
  const dashed = new Set([...solid].flatMap((each) => operandsOf(workingOf(table, each))));
  const shown = { ...bare, solid, dashed };
  const newest = table.words[table.prompt];
  return html`
    <div class="row wide">
      <div class="choice is-moment" role="group" aria-label="Step">
        <button type="button" aria-pressed=${moment === "prefill"} onClick=${() => actions.toMoment("prefill")}><b>Prefill</b> ${table.words.slice(0, table.prompt).join(", ")} together</button>
        <button type="button" class="is-decode" aria-pressed=${moment === "decode"} onClick=${() => actions.toMoment("decode")}><b>Decode</b> one new row: ${newest}</button>
      </div>
      <${Said} wrong=${shown.wrong} table=${table} moment=${moment} />
      <${Inputs} answer=${answer} wrong=${shown.wrong} actions=${actions} />
      <p class="by-hand-key row muted push"><span class="key-input">an input: type in it</span> <span class="key-computed">computed: open it</span>${shown.changed.size > 0 && html` <span class="key-changed">${shown.changed.size} numbers changed with the last edit</span>`}</p>
    </div>
    <div class="by-hand-lines">
      ${table.lines.map(
        ({ title, columns }) => html`<section key=${title} class="by-hand-line" aria-label=${title || "Attention"}>
          ${title && html`<h2>${title}</h2>`}
          <div class="by-hand-columns">
            ${columns.map(
              ({ sign, over, under }, at) => html`
                ${sign && html`<span class="by-hand-sign centred small strong" aria-hidden="true"><${Title} text=${sign} /></span>`}
                <div class="by-hand-column stack tight" key=${under.name}>
                  ${over && html`<${Matrix} block=${over} first=${false} shown=${shown} actions=${actions} />`}
                  <${Matrix} block=${under} first=${at === 0} shown=${shown} actions=${actions} />
                </div>
              `,
            )}
          </div>
        </section>`,
      )}
    </div>
    <${Working} open=${open} shown=${shown} actions=${actions} />
    <div class="grid">
      ${predict !== null && html`<${Predict} names=${shown.names} shown=${shown} actions=${actions} />`}
      <${Projections} answer=${answer} table=${table} moment=${moment} />
      <${Misprints} shown=${shown} actions=${actions} framed=${framed} />
      ${real && html`<${RealHead} real=${real} theme=${theme} framed=${framed} d=${answer.example.parts.embeddings[0].length} />`}
    </div>
  `;
}

/** What this step computes; in its place, what is wrong with what was typed: nothing moves from under the pointer. */
function Said({ wrong, table, moment }) {
  if (wrong) {
    const where = wrong.cell?.includes(":") ? `${sayCell(table, wrong.cell)}: ` : "";
    const text = where ? wrong.text.replace(/^\w+: /, "") : wrong.text;
    return html`<p class="own-wrong word-bad breaks" id="wrong" role="alert">${where}${text}</p>`;
  }
  return html`<p>${
    moment === "prefill"
      ? html`Now: <b class="is-computed">every row</b> of the prompt is computed, in one pass.`
      : html`Now: the <b class="is-computed">amber</b> row is all this step computes. K and V of the rows above are <b class="is-kept">blue</b>: kept, and read again.`
  }</p>`;
}
