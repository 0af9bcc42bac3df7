/** The layers from bottom to top, as on the map: the lengths of the rows after each, and what the logit lens reads from the newest row. */

import { html } from "htm/preact";
import { useCallback, useMemo } from "preact/hooks";
import { integer, percent, quoted, significant } from "../../../shared/facts/format.js";
import { Surface } from "../../../shared/ui/surface.js";
import { Token } from "../../../shared/ui/token.js";
import { useRatio, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { Term } from "../../../shared/words/term.js";
import { mapView, residualRange } from "../../map/scene.js";
import { residualShades } from "../../map/shades.js";
import { usePainting } from "../../ui/use-painting.js";
import { barShare } from "./lens.js";
import { paintStackLine, stackSize } from "./residual-stack.js";

const STRIP_PX = { roomy: 92, narrow: 48 };
const HEAD_PX = 21;
/** The height of a row where the page scrolls; elsewhere rows fill the space between these limits. */
const ROW_PX = { usual: 20, least: 12, most: 24 };

/**
 * @param {{state: Object, lens: Object|null, guesses: boolean, layout: "roomy"|"snug"|"column", dispatch: Function}} props `lens`
 *   from the server; `guesses`: it is loaded or may be; in a column the rows have their usual height, otherwise they fill the space
 */
export function LayerStack({ layout, ...props }) {
  const [ref, size] = useSize();
  const room = size && layout !== "column" ? (size.height - HEAD_PX) / props.state.run.layers : ROW_PX.usual;
  const rowPx = Math.max(ROW_PX.least, Math.min(ROW_PX.most, Math.floor(room * 4) / 4));
  return html`<div class="stack-box grow" ref=${ref} tabindex="0" role="group" aria-label=${msg`Layers`}>
    <${Stack} ...${props} rowPx=${rowPx} stripPx=${layout === "roomy" ? STRIP_PX.roomy : STRIP_PX.narrow} />
  </div>`;
}

function Stack({ state, lens, guesses, rowPx, stripPx, dispatch }) {
  const { run, step, selection, layerStop } = state;
  const { token } = run.steps[step].data;
  const { windows, experts } = run.open.model;
  const newest = run.lastQueryOfStep(step);
  const shown = layerStop ?? run.layers;
  const layers = Array.from({ length: run.layers }, (_, index) => run.layers - 1 - index);
  const name = quoted(token, 12);
  return html`<table class="layer-table" style=${`--row:${rowPx}px`}>
    <caption class="visually-hidden">${msg`Layers from last to first: length of the newest row, best guess, chosen token`}</caption>
    <thead>
      <tr>
        <th scope="col">${msg`layer`}</th>
        ${windows && html`<th scope="col" class="is-number"><${Term} id="sliding-window">${msg`reads`}<//></th>`}
        ${experts && html`<th scope="col" class="is-number">${msg`experts`}</th>`}
        <th scope="col"><${Term} id="residual-stream">${msg`rows`}<//></th>
        <th scope="col" class="is-number"><${Term} id="length">${msg`length`}<//></th>
        ${
          guesses &&
          html`<th scope="col" colspan="2"><${Term} id="logit-lens">${msg`best guess so far`}<//></th>
        <th scope="col" colspan="2">${name}</th>
        <th scope="col" class="is-number">${msg`rank`}</th>`
        }
      </tr>
    </thead>
    <tbody>
      ${layers.map((layer) => {
        const length = run.residualNorm(layer, newest);
        const ahead = layer >= shown;
        const kinds = [layer === selection.layer && "is-selected", ahead && "is-ahead"].filter(Boolean).join(" ");
        return html`<tr key=${layer} class=${kinds} onClick=${() => dispatch({ type: "select", selection: { layer } })}>
          <th scope="row">
            <button type="button" aria-label=${msg`Layer ${layer}`} aria-pressed=${layer === selection.layer}>L${layer}</button>
          </th>
          ${windows && html`<td class="is-number">${windows[layer] === null ? msg`all` : integer(windows[layer])}</td>`}
          ${
            experts &&
            html`<td class="is-number" title=${msg`chosen for the newest token, largest share first`}>${
              ahead
                ? ""
                : run
                    .experts(layer, newest)
                    .map(({ expert }) => expert)
                    .join(", ") || "–"
            }</td>`
          }
          ${
            layer === run.layers - 1 &&
            html`<td class="stack-strip" rowspan=${run.layers}>
            <${Strip} state=${state} width=${stripPx} rowPx=${rowPx} shown=${shown} />
          </td>`
          }
          <td class="is-number">${ahead || length === null ? "" : significant(length)}</td>
          ${
            ahead
              ? html`<td class="stack-ahead" colspan="5">${layer === shown && msg`not computed yet, from here up`}</td>`
              : guesses && Guess(lens?.layers[layer], token)
          }
        </tr>`;
      })}
    </tbody>
  </table>`;
}

/** The cells of one layer's logit lens; empty until it is loaded. */
function Guess(reading, token) {
  if (!reading) return html`<td colspan="5"></td>`;
  const [best] = reading.top;
  const { prob, rank } = reading.chosen;
  const leads = best.id === token.id;
  return html`
    <td class=${leads ? "is-leading" : ""}><${Token} token=${best} limit=${11} /></td>
    <td class="is-number">${percent(best.prob, 0)}</td>
    <td class="stack-bar"><i style=${`width:${(100 * barShare(prob)).toFixed(1)}%`}></i></td>
    <td class="is-number">${percent(prob, prob < 0.0995 ? 1 : 0)}</td>
    <td class=${`is-number ${rank === 0 ? "is-leading" : ""}`}>${integer(rank + 1)}</td>
  `;
}

function Strip({ state, width, rowPx, shown }) {
  const { run, step } = state;
  const theme = useTheme();
  const ratio = useRatio();
  const residual = useMemo(() => residualShades(run, residualRange(run)), [run]);
  const picture = useMemo(() => {
    const view = mapView(run, step);
    const size = { width, rowPx, ratio };
    return {
      ...stackSize(view, size),
      parts: view.layers,
      paint: (target, layer) => paintStackLine(target, view, layer, { residual, theme, shown }, size),
      continues: run.id,
    };
  }, [run, step, residual, theme, shown, width, rowPx, ratio]);
  const { image, painted } = usePainting(picture);
  const height = rowPx * run.layers;
  const draw = useCallback(
    (context) => {
      context.clearRect(0, 0, width, height);
      context.drawImage(image, 0, 0, width, height);
    },
    [image, picture, painted, width, height],
  );
  const label = msg`Lengths of all rows after each layer; the table has those of the newest row`;
  return html`<div role="img" aria-label=${label} style=${`height:${height}px;width:${width}px`}>
    <${Surface} class="" width=${width} height=${height} ratio=${ratio} draw=${draw} />
  </div>`;
}
