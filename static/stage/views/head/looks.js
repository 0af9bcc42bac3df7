/** Where one query looks, as bars: the matrix row in words and numbers, on one scale from 0 to 100 %. */

import { html } from "htm/preact";
import { SHADES, shade } from "../../../shared/draw/scales.js";
import { topKeys } from "../../../shared/facts/attention.js";
import { counted, percent, quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { useTheme } from "../../../shared/ui/use-theme.js";

const SHOWN = 5;
/** A bar is never as pale as the paper. */
const LEAST_SHADE = 0.45;

/**
 * A name is chosen by a pointer; keys go there by the matrix's arrow keys, so none of the names is a stop of the Tab key.
 *
 * @param {{run: Object, focus: Object, row: Object|null, fresh: boolean, dispatch: Function}} props `row` as `rowWeights` gives it; `fresh`: of the
 *   step in sight
 */
export function Looks({ run, focus, row, fresh, dispatch }) {
  const { query, key: chosen, locked, preview } = focus;
  const theme = useTheme();
  const keys = row ? topKeys(row.weights, SHOWN) : [];
  const rest = 1 - keys.reduce((total, { weight }) => total + weight, 0);
  const left = query + 1 - keys.length;
  const onAll = () => dispatch({ type: "enter", selection: { query, key: chosen, view: "pair" } });
  const choose = (key) => dispatch({ type: "select", selection: { query, key } });
  const { css } = fresh ? theme.attentionNow : theme.attention;
  const bar = (weight) => `--share:${(weight * 100).toFixed(1)}%;--bar:${css[barShade(weight)]}`;
  return html`<table class="looks fill">
    <caption>Where ${quoted(run.tokens[query], 12)} looks <small title=${`The run's log has the weights in ${SHADES} steps`}>± 0.4 %</small></caption>
    <tbody>
      ${chosen === null && Array.from({ length: Math.min(SHOWN, query + 1) }, (_, i) => html`<tr key=${i}><th scope="row">…</th><td>…</td></tr>`)}
      ${keys.map(
        ({ key, weight }) => html`<tr key=${key} class=${locked && key === chosen ? "is-chosen" : ""}>
          <th scope="row">
            <button
              type="button" disabled=${preview} title=${`key at position ${key}: keep this cell`}
              aria-pressed=${locked && key === chosen} tabindex="-1" onClick=${() => choose(key)}
            ><${Token} class=${kindOf(run, key, query)} token=${run.tokens[key]} limit=${10} /></button>
          </th>
          <td><span class="look-bar" style=${bar(weight)}></span>${percent(weight, 0)}</td>
        </tr>`,
      )}
    </tbody>
    ${
      keys.length > 0 &&
      left > 0 &&
      html`<tfoot>
      <tr>
        <th scope="row">
          <button type="button" disabled=${preview} tabindex="-1" title="The whole row, as numbers" onClick=${onAll}>
            ${counted(left, "more key", "more keys")} ▸
          </button>
        </th>
        <td><span class="look-bar" style=${bar(Math.max(0, rest))}></span>${percent(Math.max(0, rest), 0)}</td>
      </tr>
    </tfoot>`
    }
  </table>`;
}

/** Brightness is on a root scale, as in the matrix. */
function barShade(weight) {
  return shade(LEAST_SHADE + (1 - LEAST_SHADE) * Math.sqrt(weight));
}

function kindOf(run, key, query) {
  if (key === query) return "word-computed";
  return key < run.promptLength ? "word-cached" : "word-output";
}
