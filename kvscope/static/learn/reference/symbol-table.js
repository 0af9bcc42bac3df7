/** The symbols with this model's numbers. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { symbolsOf } from "./symbols.js";

/** @param {{model: Object, run: Object}} props `run`: of `symbolsOf` */
export function SymbolTable({ model, run }) {
  return html`<section class="own-card stack box" aria-label=${msg`Symbols`}>
    <h2>${msg`Symbols`}</h2>
    <${Table} name=${msg`Table of symbols`} kind="symbols"
      columns=${[{ head: msg`symbol` }, { head: msg`here` }, { head: msg`meaning`, words: true }, { head: msg`also written`, words: true }]}
      rows=${symbolsOf(model, run).map(({ symbol, also, name, value, says }) => ({
        key: symbol,
        head: html`<bdi class="mono strong nowrap">${symbol}</bdi>`,
        cells: [integer(value), html`${name} <small>${says}</small>`, html`<span class="mono small">${also}</span>`],
      }))}
    />
  </section>`;
}
