/** A weight matrix, or some columns of it, as a picture with one pixel per weight. The row that computed the opened number is marked. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { significant } from "../../../shared/facts/format.js";
import { imageOf } from "../../../shared/ui/surface.js";
import { pointInside } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { pixels } from "../../draw/pixels.js";
import { useModelValues } from "../../state/use-model-values.js";

/** The shade of a weight of 0, and the number of shades on either side (docs/frames.md). */
const [ZERO, STEPS] = [128, 127];

/** @returns {number} the weight that a shade stands for, as a share of the largest */
function shareOf(shade) {
  const step = (shade - ZERO) / STEPS;
  return step * Math.abs(step);
}

/**
 * @param {{name: string, of: string, row?: number|null, columns?: [number, number]|null, scene: Object, state: Object, client: Object}} props
 *   `row`: the marked one; `columns`: the first that is shown and the one after the last; null: all
 */
export function MatrixPicture({ name, of, row = null, columns = null, scene, state, client }) {
  const { status, values } = useModelValues(
    state,
    client.ask("matrix"),
    { run: scene.run.id, layer: scene.layer, of },
    "weights",
  );
  if (!values)
    return html`<p role="status">${status === "loading" ? msg`Loading the matrix from the model…` : msg`The model did not give the matrix.`}</p>`;
  const [first, end] = columns ?? [0, values.shades.shape[1]];
  return html`<${Picture} name=${name} row=${row} first=${first} columns=${end - first} shades=${values.shades} largest=${values.largest.data[0]} />`;
}

function Picture({ name, row, first, columns, shades, largest }) {
  const canvas = useRef(null);
  const theme = useTheme();
  const [at, setAt] = useState(null);
  const [rows, width] = shades.shape;
  useEffect(() => {
    const context = canvas.current.getContext("2d");
    const picture = pixels(width, rows);
    for (let each = 0; each < picture.data.length; each++) picture.data[each] = theme.signed.packed[shades.data[each]];
    context.drawImage(imageOf(picture), -first, 0);
    if (row === null) return;
    context.fillStyle = theme.ink;
    context.fillRect(0, row - 1, columns, 1);
    context.fillRect(0, row + 1, columns, 1);
  }, [shades, theme, row, first]);
  const onPointerMove = (event) => {
    const { x, y } = pointInside(event);
    const scale = columns / event.currentTarget.offsetWidth;
    const place = [Math.floor(y * scale), Math.floor(x * scale)];
    setAt(place[0] < rows && place[1] < columns ? [place[0], first + place[1]] : null);
  };
  const weight = at && shareOf(shades.data[at[0] * width + at[1]]) * largest;
  return html`<figure class="block-matrix">
    <canvas
      ref=${canvas} width=${columns} height=${rows} role="img"
      aria-label=${row === null ? msg`${name}: ${rows} rows of ${columns} weights` : msg`${name}: ${rows} rows of ${columns} weights; row ${row} is marked`}
      onPointerMove=${onPointerMove} onPointerLeave=${() => setAt(null)}
    ></canvas>
    <figcaption>${msg`One pixel per weight: rose below zero, olive above. The largest of the whole matrix is ${significant(largest)}.`}
      ${row !== null && html` ${msg`Row ${row} is between the lines.`}`}
      ${at && html` <b>${name}[${at[0]}][${at[1]}] ≈ ${significant(weight)}</b>`}</figcaption>
  </figure>`;
}
