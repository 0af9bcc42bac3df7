/** The symbols with this model's numbers. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { symbolsOf } from "./symbols.js";

/** @param {{model: Object, run: Object}} props `run`: as `symbolsOf` takes it */
export function SymbolTable({ model, run }) {
  return html`<section class="own-card stack box" aria-label=${msg`Symbols`}>
    <h2>${msg`Symbols`}</h2>
    <div class="across" tabindex="0" role="region" aria-label=${msg`Table of symbols`}><table class="learn-table symbols">
      <thead><tr><th scope="col">${msg`symbol`}</th><th scope="col" class="is-number">${msg`here`}</th><th scope="col">${msg`meaning`}</th><th scope="col">${msg`also written`}</th></tr></thead>
      <tbody>${symbolsOf(model, run).map(
        ({ symbol, also, name, value, says }) => html`<tr key=${symbol}>
          <th scope="row" class="mono strong nowrap"><bdi>${symbol}</bdi></th><td class="is-number">${integer(value)}</td>
          <td>${name} <small>${says}</small></td><td class="mono small">${also}</td>
        </tr>`,
      )}</tbody>
    </table></div>
  </section>`;
}
