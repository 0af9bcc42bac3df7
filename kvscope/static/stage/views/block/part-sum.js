/** The parts of a change, their sum and the model's own change as grids of cells. One selected number is marked in all. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { significant, withExponent } from "../../../shared/facts/format.js";
import { Surface } from "../../../shared/ui/surface.js";
import { pointInside } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg, nodes } from "../../../shared/words/msg.js";
import { fill, pixels } from "../../draw/pixels.js";
import { signedShade } from "../../draw/tiles.js";
import { usePicture } from "../use-picture.js";
import { cellBox, gridOf } from "./draw/boxes.js";
import { clipOf } from "./draw/cells.js";
import { lengthOf } from "./scene.js";

const SIDE_PX = 104;

/**
 * @param {{name: string, parts: string, titleOf: (part: number) => string, marked?: number, joined: Object, cause: string|null}} props
 *   `titleOf`: the name of a part; `marked`: a part that is marked; `joined`: of `joinedIn`; `cause`: why the sums differ, if it is known
 */
export function PartSum({ name, parts: partsText, titleOf, marked, joined, cause }) {
  const { parts, bias, sum, change, difference } = joined;
  const largest = useMemo(
    () => change.reduce((best, value, at) => (Math.abs(value) > Math.abs(change[best]) ? at : best), 0),
    [change],
  );
  const [selected, setSelected] = useState(null);
  const at = selected ?? largest;
  const grid = gridOf(change.length, SIDE_PX, SIDE_PX);
  const clip = useMemo(() => Math.max(...[...parts, change].map(clipOf)), [parts[0], change]);
  const shown = [
    ...parts.map((values, part) => ({
      ...{ before: part ? "+" : "", title: titleOf(part), values },
      kind: part === marked ? "is-marked" : "",
    })),
    ...(bias ? [{ before: "+", title: msg`bias, added once`, values: bias, kind: "is-weights" }] : []),
    { before: "=", title: msg`the sum`, values: sum, kind: "" },
    { before: "", title: msg`the model’s own`, values: change, kind: "is-own" },
  ];
  const moves = {
    ArrowRight: at + 1,
    ArrowLeft: at - 1,
    ArrowDown: at + grid.columns,
    ArrowUp: at - grid.columns,
    Home: 0,
    End: change.length - 1,
  };
  const onKeyDown = (event) => {
    const to = moves[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (to >= 0 && to < change.length) setSelected(to);
  };
  const equation = `${added([...parts, ...(bias ? [bias] : [])].map((values) => values[at]))} = ${significant(sum[at])}`;
  const result = significant(change[at]);
  const [own, apart] = [result, withExponent(difference)].map((number) => html`<b class="number">${number}</b>`);
  const sumText = html`<span class="number">${equation}</span>`;
  const size = significant(Math.abs(change[largest]));
  return html`<section class="parts-half" aria-label=${name}>
    <h3>${name} <small>${partsText}</small></h3>
    <div
      class="parts-row row" role="slider" tabindex="0" aria-label=${msg`${name}: number to compare across the parts`}
      aria-valuemin="0" aria-valuemax=${change.length - 1} aria-valuenow=${at}
      aria-valuetext=${msg`number ${at}: ${equation}; the model: ${result}`} onKeyDown=${onKeyDown}
    >
      ${shown.map(
        ({ title, ...part }) =>
          html`<${GridPart} key=${title} title=${title} ...${part} clip=${clip} at=${at} onChoose=${setSelected} />`,
      )}
    </div>
    <p class="parts-result small">
      ${nodes`Number ${at}: ${sumText}; the model computed ${own}.`}
      ${" "}${nodes`Among all ${change.length} numbers, of sizes up to ${size}, the largest difference between the sum and the model’s own is ${apart}.`}
      ${" "}${cause && msg`The two ways round differently: ${cause}.`}
    </p>
  </section>`;
}

/**
 * One vector of an equation, with its length.
 *
 * @param {{before: string, title: string, values: Float32Array, kind?: string, clip?: number, at?: number|null, onChoose?: Function}} props
 *   `before`: the sign before it; `clip`: the value of the strongest colour; `at`: the number that is marked and written
 */
export function GridPart({ before, title, values, kind = "", clip = clipOf(values), at = null, onChoose = () => {} }) {
  return html`<div class=${`parts-part line ${kind}`}>
    ${before && html`<b class="parts-sign centred" aria-hidden="true">${before}</b>`}
    <div>
      <span class="parts-title small strong">${title}</span>
      <${Cells} values=${values} clip=${clip} at=${at} onChoose=${onChoose} />
      ${at !== null && html`<b class="number">${significant(values[at])}</b>`}
      <small>${msg`length ${significant(lengthOf(values))}`}</small>
    </div>
  </div>`;
}

/** @returns {string} "1.2 − 0.3" */
function added(values) {
  const [first, ...others] = values;
  const signed = others.map((value) => `${value < 0 ? "−" : "+"} ${significant(Math.abs(value))}`);
  return [significant(first), ...signed].join(" ");
}

function Cells({ values, clip, at, onChoose }) {
  const theme = useTheme();
  const grid = gridOf(values.length, SIDE_PX, SIDE_PX);
  const surface = usePicture(
    { width: SIDE_PX, height: SIDE_PX },
    (ratio) => paintGrid(values, grid, { theme, clip, ratio }),
    [values, grid.columns, theme, clip],
  );
  const onPoint = (event) => {
    const { x, y } = pointInside(event);
    const index = Math.floor((y / SIDE_PX) * grid.rows) * grid.columns + Math.floor((x / SIDE_PX) * grid.columns);
    if (index >= 0 && index < values.length && index !== at) onChoose(index);
  };
  const box = at !== null && cellBox({ x: 0, y: 0, width: SIDE_PX, height: SIDE_PX, ...grid }, at);
  return html`<div class="parts-cells anchor" style=${`width:${SIDE_PX}px;height:${SIDE_PX}px`} onPointerDown=${onPoint} onPointerMove=${onPoint}>
    <${Surface} ...${surface} class="" />
    ${box && html`<i style=${`left:${box.x}px;top:${box.y}px;width:${box.width}px;height:${box.height}px`}></i>`}
  </div>`;
}

/** All grids of a half share one colour scale, so that a small part looks small beside the sum. */
function paintGrid(values, { columns, rows }, { theme, clip, ratio }) {
  const side = Math.round(SIDE_PX * ratio);
  const target = pixels(side, side);
  const edge = (at, count) => Math.round((at * side) / count);
  values.forEach((value, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    const [left, top] = [edge(column, columns), edge(row, rows)];
    const [right, bottom] = [Math.max(left + 1, edge(column + 1, columns)), Math.max(top + 1, edge(row + 1, rows))];
    fill(target, left, top, right, bottom, theme.signed.packed[signedShade(value, clip)]);
  });
  return target;
}
