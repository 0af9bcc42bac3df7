/** The worked examples: every number opens its calculation, and every input can be changed. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { ShareAddress } from "../embed/share-address.js";
import { CodeButton, CodeDock } from "../shared/code/code-dock.js";
import { under } from "../shared/log/root.js";
import { listenToKeys } from "../shared/state/listen-to-keys.js";
import { Fetched } from "../shared/ui/fetched.js";
import { OwnHeader } from "../shared/ui/own-header.js";
import { form, msg, nodes, plural } from "../shared/words/msg.js";
import { Calculation } from "./calculation.js";
import { Inputs } from "./inputs.js";
import { Matrix, Title } from "./matrix.js";
import { Misprints } from "./misprint-card.js";
import { Predict } from "./predict-card.js";
import { Projections } from "./projections.js";
import { RealHead } from "./real-head.js";
import { calculationOf, cellLabel, operandsOf } from "./table.js";
import { useExample } from "./use-example.js";

const CODE_KEY = {
  ...{ keys: ["c"], label: "c", text: msg`Open or close the code` },
  run: ({ toggleCode }) => toggleCode(),
};
/** Keys for the help, with those of matrix.js. */
const KEYS = [
  { label: "← → ↑ ↓", text: msg`Move between the computed numbers of a matrix; in an input, ↑ and ↓ change it` },
  CODE_KEY,
];
const PANEL = async () => {
  const { CodePanel, readSource } = await import("./code-panel.js");
  readSource().catch(() => {}); // the panel says so
  return CodePanel;
};
const PRINTS = [
  { name: msg`Print worksheet`, sheet: "blank" },
  { name: msg`Print with answers`, sheet: "answers" },
];
/** `simplified`: which parts of a real step are missing. */
const HEADINGS = {
  a: {
    title: msg`Check attention with a pencil: “the cat sat”`,
    label: msg`A · 2 numbers`,
    simplified: msg`This example has a single head: no positions, residual stream, norm, MLP or next token.`,
  },
  b: {
    title: msg`Check attention with a pencil: “I love” → “AI”`,
    label: msg`B · 4 numbers, 2 heads`,
    simplified: msg`This example has a single attention layer: no residual stream, norm or MLP before the LM head.`,
  },
  c: {
    title: msg`Check a whole block with a pencil: “I love” → “AI”`,
    label: msg`C · whole block`,
    simplified: msg`The inputs of B in a block with norms, a residual stream and an MLP. The learned factors of its norms are 1.`,
  },
};

/** @param {{example: "a"|"b"|"c", framed: boolean, real: Object|null, theme: string, setTheme: Function, lights: Object}} props */
export function Page({ example, framed, real, theme, setTheme, lights }) {
  const { shown, open, waiting, predict, code, focus, search, actions } = useExample({
    example,
    window,
    keepAddress: framed,
  });
  useEffect(() => listenToKeys(window, actions, [CODE_KEY]), []);
  const matrices = shown?.table.lines.flatMap(({ columns }) => columns.map(({ under }) => under.name)) ?? [];
  const unknown = shown && focus?.find((name) => !matrices.includes(name));
  const alone = shown && focus && !unknown;
  return html`
    ${!framed && html`<${OwnHeader} here="by-hand" theme=${theme} setTheme=${setTheme} keys=${KEYS} />`}
    <main class="own-page stack wide by-hand" data-alone=${alone ? "true" : null}>
      ${!alone && html`<${Heading} ...${{ example, framed, shown, predict, code, search, actions }} />`}
      ${focus && unknown && html`<p role="status">${msg`This page has no part “${unknown}” here, so all of it is shown.`}</p>`}
      ${alone ? html`<h1 class="visually-hidden">${HEADINGS[example].title}</h1><${Named} ...${{ shown, open, focus, actions }} />` : shown ? html`<${Example} ...${{ shown, open, predict, code, real, theme, framed, lights, actions }} />` : html`<p class="by-hand-waiting muted centred" role="status">${waiting || msg`The engine is computing…`}</p>`}
    </main>
  `;
}

function Heading({ example, framed, shown, predict, code, search, actions }) {
  const { title, simplified } = HEADINGS[example];
  const base = framed ? "/embed/by-hand/" : "/by-hand/";
  return html`<div class="own-heading row between">
    <div>
      <h1>${title}</h1>
      <p>${msg`One row is one token. Read the matrices from left to right.`} <b>${msg`Below a matrix, each cell is its row times the column above it.`}</b></p>
      <p class="muted">${simplified}</p>
    </div>
    <div class="own-tools row">
      <nav class="choice" aria-label=${msg`Examples`}>
        ${Object.entries(HEADINGS).map(([name, { label }]) =>
          name === example
            ? html`<b aria-current="page">${label}</b>`
            : html`<a href=${under(`${base}${name}`)}>${label}</a>`,
        )}
      </nav>
      <div class="choice" role="group" aria-label=${msg`Mode`}>
        <button type="button" aria-pressed=${predict === null} onClick=${() => actions.predict(false)}>${msg`All numbers`}</button>
        <button type="button" aria-pressed=${predict !== null} onClick=${() => actions.predict(true)}>${msg`Predict it`}</button>
      </div>
      <${CodeButton} class="button" open=${code} onToggle=${actions.toggleCode} />
      <button type="button" class="button" disabled=${!shown?.canUndo} onClick=${actions.undo}>${msg`Undo`}</button>
      <button type="button" class="button" disabled=${!shown || shown.plain} onClick=${actions.reset}>${msg`Reset`}</button>
      ${
        framed
          ? html`<a class="button" target="_blank" rel="noopener" href=${under(`/by-hand/${example}${search}`)}>${msg`Open in KVScope`}</a>`
          : html`<${ShareAddress}
              path=${`/by-hand/${example}${search}`} title=${title} prints=${PRINTS}
              say=${msg`The address holds all changes. The server stores nothing.`}
            />`
      }
    </div>
  </div>`;
}

function Example({ shown: bare, open, predict, code, real, theme, framed, lights, actions }) {
  const { table, phase, cell, answer } = bare;
  const solid = new Set(operandsOf(calculationOf(table, cell)));
  const dashed = new Set([...solid].flatMap((each) => operandsOf(calculationOf(table, each))));
  const shown = { ...bare, solid, dashed };
  const [prompt, newest] = [table.words.slice(0, table.prompt).join(", "), table.words[table.prompt]];
  const [prefill, decode] = [html`<b>${msg`Prefill`}</b>`, html`<b>${msg`Decode`}</b>`];
  const changes = shown.changed.size;
  return html`
    <div class="row wide">
      <div class="choice is-phase" role="group" aria-label=${msg`Step`}>
        <button type="button" aria-pressed=${phase === "prefill"} onClick=${() => actions.toPhase("prefill")}>${nodes`${prefill} ${prompt} together`}</button>
        <button type="button" class="is-decode" aria-pressed=${phase === "decode"} onClick=${() => actions.toPhase("decode")}>${nodes`${decode} one new row: ${newest}`}</button>
      </div>
      <${Status} wrong=${shown.wrong} table=${table} phase=${phase} />
      <${Inputs} answer=${answer} wrong=${shown.wrong} actions=${actions} />
      <p class="by-hand-key row muted push"><span class="key-input">${msg`input: type to change it`}</span> <span class="key-computed">${msg`computed: press to see how`}</span>${changes > 0 && html` <span class="key-changed">${plural(changes, form`The last edit changed ${changes} number`, form`The last edit changed ${changes} numbers`)}</span>`}</p>
    </div>
    <${Lines} lines=${table.lines} shown=${shown} actions=${actions} />
    <div class="by-hand-foot" data-code=${code}>
      <${Calculation} open=${open} shown=${shown} actions=${actions} />
      <${CodeDock} open=${code} load=${PANEL}><${Fetched} of=${PANEL} shown=${shown} lights=${lights} onClose=${actions.toggleCode} /><//>
    </div>
    <div class="grid">
      ${predict !== null && html`<${Predict} names=${shown.names} shown=${shown} actions=${actions} />`}
      <${Projections} answer=${answer} table=${table} phase=${phase} />
      ${!table.whole && html`<${Misprints} shown=${shown} actions=${actions} framed=${framed} />`}
      ${real && html`<${RealHead} real=${real} theme=${theme} framed=${framed} d=${answer.example.parts.embeddings[0].length} />`}
    </div>
  `;
}

function Lines({ lines, shown, actions }) {
  return html`<div class="by-hand-lines">
    ${lines.map(
      ({ title, columns }) => html`<section key=${title} class="by-hand-line" aria-label=${title || msg`Attention`}>
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
  </div>`;
}

/** The named matrices with what is over them, and the calculation of the selected cell. */
function Named({ shown: bare, open, focus, actions }) {
  const { table, cell } = bare;
  const lines = table.lines
    .map(({ columns }) => ({ title: "", columns: columns.filter(({ under }) => focus.includes(under.name)) }))
    .filter(({ columns }) => columns.length > 0)
    .map((line) => ({
      ...line,
      columns: line.columns.map((column, at) => ({ ...column, sign: at ? column.sign : "" })),
    }));
  const shown = { ...bare, solid: new Set(operandsOf(calculationOf(table, cell))), dashed: new Set() };
  return html`<${Lines} lines=${lines} shown=${shown} actions=${actions} />
    ${shown.wrong && html`<${Status} wrong=${shown.wrong} table=${table} phase=${shown.phase} />`}
    <div class="by-hand-foot"><${Calculation} open=${open} shown=${shown} actions=${actions} /></div>
    <p class="focus-rest"><button type="button" class="muted" onClick=${actions.showAll}>▸ ${msg`The whole example`}</button></p>`;
}

/** Says what this step computes, or what is wrong with an input; in one place, so that the layout does not move. */
function Status({ wrong, table, phase }) {
  if (wrong) {
    const where = wrong.cell?.includes(":") ? `${cellLabel(table, wrong.cell)}: ` : "";
    const text = where ? wrong.text.replace(/^\w+: /, "") : wrong.text;
    return html`<p class="own-wrong word-bad breaks" id="wrong" role="alert">${where}${text}</p>`;
  }
  const every = html`<b class="is-computed">${msg`every row`}</b>`;
  const amber = html`<b class="is-computed">${msg`amber`}</b>`;
  const blue = html`<b class="is-cached">${msg`blue`}</b>`;
  return html`<p>${
    phase === "prefill"
      ? nodes`This pass computes ${every} of the prompt.`
      : nodes`This step computes only the ${amber} row. It reads K and V of the rows above (${blue}) from the KV cache.`
  }</p>`;
}
