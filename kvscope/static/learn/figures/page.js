/** Figures as texts print them, each beside the right one, with its calculation on inputs that the reader can change. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { figureText, rightOf } from "../../shared/figures/figure-lines.js";
import { FIGURES } from "../../shared/figures/figures.js";
import { under } from "../../shared/log/root.js";
import { decimal, whole } from "../../shared/sizes/quantity.js";
import { Derivation } from "../../shared/sizes/result-details.js";
import { msg, translated } from "../../shared/words/msg.js";
import { Frame } from "../parts/frame.js";
import { useAddress } from "../parts/use-address.js";
import { calculationsOf } from "./calculations.js";
import { Fields, NO_INPUTS, readInputs } from "./fields.js";

const GROUPS = {
  memory: msg`Memory`,
  formats: msg`Number formats`,
  loop: msg`Work with and without a cache`,
  example: msg`Worked example B`,
  measured: msg`Measured or given as an example`,
  sentences: msg`In words`,
};
const FIRST = { figure: "", ...NO_INPUTS };

/** @param {{known: Object, client: Object, theme: string, setTheme: Function}} props */
export function Page({ known, theme, setTheme }) {
  const [texts, put] = useAddress(FIRST);
  const calculations = useMemo(() => calculationsOf(known.models), [known]);
  const choose = (id) => {
    for (const name of Object.keys(NO_INPUTS)) put(name, "");
    put("figure", id);
  };
  useEffect(() => document.getElementById(texts.figure)?.scrollIntoView(), []);
  return html`<${Frame}
    id="figures" beside=${known.beside} theme=${theme} setTheme=${setTheme}
    title=${msg`Which printed figures are right?`}
    lead=${msg`Figures that texts about language models print, each beside what its formula gives. Open one to see both calculations, and change the inputs. GB = 10⁹ bytes.`}
  >
    ${Object.entries(GROUPS).map(
      ([group, name]) => html`<section key=${group} class="own-card stack box" aria-label=${name}>
        <h2>${name}</h2>
        <div>${FIGURES.filter((figure) => figure.group === group).map((figure) => {
          const open = texts.figure === figure.id;
          return html`<${Entry} key=${figure.id} figure=${figure} calculation=${calculations[figure.id]} open=${open} toggle=${() => choose(open ? "" : figure.id)} texts=${texts} put=${put} />`;
        })}</div>
      </section>`,
    )}
  <//>`;
}

function Entry({ figure: { id, name, text, kind, shows }, calculation, open, toggle, texts, put }) {
  const onClick = (event) => {
    event.preventDefault();
    toggle();
  };
  const printed = html`<span class="number">${translated(name)}</span>`;
  return html`<details id=${id} class="result" open=${open}>
    <summary onClick=${onClick}>
      <span class="figure-name">${kind === "wrong" ? html`<s>${printed}</s>` : printed}</span>
      <span class="figure-text muted">${translated(text)}</span>
      ${calculation && kind === "wrong" && html`<span class="figure-right">${msg`right:`} <b class="number word-cached">${rightOf(calculation)}</b></span>`}
      ${kind === "right" && html`<span class="chip is-cached">${msg`right`}</span>`}
      ${kind === "elsewhere" && html`<span class="chip">${msg`no formula gives it`}</span>`}
    </summary>
    <div class="figure-body stack">
      ${open && calculation && html`<${Calculated} key=${id} id=${id} calculation=${calculation} texts=${texts} put=${put} />`}
      <p><a href=${under(shows)}>${kind === "elsewhere" ? msg`Where it is measured here` : msg`See it on a page`}</a></p>
    </div>
  </details>`;
}

/** Shows a calculation with the reader's inputs. They are in the address where they differ from those of the figure. */
function Calculated({ id, calculation: { first, of }, texts, put }) {
  const [typed, setTyped] = useState(() =>
    Object.fromEntries(Object.entries(first).map(([name, text]) => [name, texts[name] || text])),
  );
  const change = (name, text) => {
    setTyped((now) => ({ ...now, [name]: text }));
    put(name, text === first[name] ? "" : text);
  };
  const { inputs, problems } = readInputs(typed);
  const results = Object.keys(problems).length ? null : of(inputs);
  return html`<${Fields} figure=${id} texts=${typed} problems=${problems} put=${change} />
    <div class="stack" aria-live="polite">
      ${results && html`<${Line} name=${msg`Right`} result=${results.right} kind="word-cached" />`}
      ${results?.beside?.map(({ name, result }) => html`<${Line} key=${name} name=${name} result=${result} kind="" />`)}
      ${results?.printed && html`<${Line} name=${msg`What the printed figure counts`} result=${results.printed} kind="word-bad" />`}
    </div>`;
}

function Line({ name, result, kind }) {
  return html`<div>
    <p>${name}: <b class="number ${kind}">${figureText(result)}</b></p>
    <${Derivation} result=${result} write=${result.unit === "" ? decimal : whole} />
  </div>`;
}
