/** The keys one query looks at most, as a table: the matrix row in words and numbers. */

import { html } from "htm/preact";
import { topKeys } from "../../facts/attention.js";
import { counted, percent, quoted } from "../../facts/format.js";
import { Token } from "../../ui/token.js";

const SHOWN = 5;

/** @param {{run: Object, focus: Object, row: Object|null, dispatch: Function}} props `row` as `rowWeights` gives it: digits that its weights do not have are not written */
export function TopKeys({ run, focus, row, dispatch }) {
  const { query, key: chosen, preview } = focus;
  const keys = row ? topKeys(row.weights, SHOWN) : [];
  const digits = row?.exact ? 1 : 0;
  const rest = 1 - keys.reduce((total, { weight }) => total + weight, 0);
  const left = query + 1 - keys.length;
  const onAll = () => dispatch({ type: "enter", selection: { query, key: chosen, view: "pair" } });
  const choose = (key) => dispatch({ type: "select", selection: { key } });
  return html`<table class="top-keys">
    <caption>
      ${quoted(run.tokens[query], 14)} looks at${row && !row.exact && html` <small title="The run's log has the weights in 256 steps">± 0.4 %</small>`}
    </caption>
    <tbody>
      ${chosen === null && Array.from({ length: Math.min(SHOWN, query + 1) }, (_, i) => html`<tr key=${i}><th scope="row">…</th><td>…</td></tr>`)}
      ${keys.map(
        ({ key, weight }) => html`<tr key=${key} class=${key === chosen ? "is-chosen" : ""}>
          <th scope="row">
            <button
              type="button" disabled=${preview} title=${`key at position ${key}`}
              aria-pressed=${key === chosen} onClick=${() => choose(key)}
            ><${Token} token=${run.tokens[key]} limit=${11} /> <small>${key}</small></button>
          </th>
          <td style=${`--share:${(weight * 100).toFixed(1)}%`}>${percent(weight, digits)}</td>
        </tr>`,
      )}
    </tbody>
    ${
      keys.length > 0 &&
      left > 0 &&
      html`<tfoot>
      <tr>
        <th scope="row">
          <button type="button" disabled=${preview} title="The whole row, as numbers" onClick=${onAll}>
            ${counted(left, "more key", "more keys")} ▸
          </button>
        </th>
        <td>${percent(Math.max(0, rest), digits)}</td>
      </tr>
    </tfoot>`
    }
  </table>`;
}
