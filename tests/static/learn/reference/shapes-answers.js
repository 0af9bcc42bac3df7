/** The shapes that the page says a prefill and a decode step have, of the model and run on the standard input. */

import { readFileSync } from "node:fs";
import { numbersOf, shapesOf, sizesOf } from "../../../../kvscope/static/learn/reference/shapes.js";

const { model, n, t } = JSON.parse(readFileSync(0, "utf-8"));
const sizes = sizesOf(model, { n, t });
const rows = shapesOf(model).flatMap(({ rows }) => rows);
process.stdout.write(
  JSON.stringify(
    Object.fromEntries(
      rows.map(({ id, prefill, decode }) => [id, [prefill, decode].map((shape) => numbersOf(shape, sizes))]),
    ),
  ),
);
