/** All numbers of a row as cells, line by line from left to right, in the colours of signed numbers. */

import { html } from "htm/preact";
import { useCallback, useState } from "preact/hooks";
import { integer, significant } from "../../shared/facts/format.js";
import { Surface } from "../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { largestSize, signedShade } from "../draw/tiles.js";

const COLUMNS = 96;
const LINE_PX = 13;
const MOST_PX = 234;
/** From this width on there is a gap between cells. */
const GAP_FROM_PX = 4;

/** @param {{row: number[]}} props */
export function RowPicture({ row }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const [at, setAt] = useState(null);
  const lines = Math.ceil(row.length / COLUMNS);
  const height = Math.min(LINE_PX * lines, MOST_PX);
  const width = size?.width ?? 0;
  const draw = useCallback(
    (context) => drawCells(context, row, theme.signed.css, { width, height, lines }),
    [row, theme, width, height, lines],
  );
  const value = at === null ? "" : significant(row[at]);
  const [low, high] = [Math.min(...row), Math.max(...row)].map(significant);
  const range = plural(
    row.length,
    form`${integer(row.length)} number, from ${low} to ${high}.`,
    form`${integer(row.length)} numbers, from ${low} to ${high}.`,
  );
  const onPointerMove = (event) => {
    const { x, y } = pointInside(event);
    const index = Math.floor((y / height) * lines) * COLUMNS + Math.floor((x / width) * COLUMNS);
    setAt(index < row.length ? index : null);
  };
  return html`<figure>
    <div
      ref=${ref} style=${`height:${height}px`} role="img" aria-label=${`${range} ${msg`One cell per number.`}`}
      onPointerMove=${onPointerMove} onPointerLeave=${() => setAt(null)}
    >${width > 0 && html`<${Surface} class="" width=${width} height=${height} ratio=${ratio} draw=${draw} />`}</div>
    <figcaption>${range} ${msg`Rose is below zero, olive above.`}${at !== null && html` <b class="number">${msg`Number ${at}: ${value}`}</b>`}</figcaption>
  </figure>`;
}

function drawCells(context, row, colours, { width, height, lines }) {
  const [wide, high] = [width / COLUMNS, height / lines];
  const gap = wide >= GAP_FROM_PX ? 1 : 0;
  const largest = largestSize(row);
  context.clearRect(0, 0, width, height);
  row.forEach((value, index) => {
    context.fillStyle = colours[signedShade(value, largest)];
    context.fillRect((index % COLUMNS) * wide, Math.floor(index / COLUMNS) * high, wide - gap, high - gap);
  });
}
