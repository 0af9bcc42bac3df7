/** The shapes that the page says a prefill and a decode step have, of the model and run on the standard input. */

import { readFileSync } from "node:fs";
import { shapesOf } from "../../../../kvscope/static/learn/reference/shapes.js";
import { lettersOf, sizeOf } from "../../../../kvscope/static/shared/facts/shapes.js";

const { model, n, t } = JSON.parse(readFileSync(0, "utf-8"));
const passes = [
  { rows: n, keys: n },
  { rows: 1, keys: t },
].map((pass) => lettersOf(model, pass));
const rows = shapesOf(model).flatMap(({ rows }) => rows);
process.stdout.write(
  JSON.stringify(
    Object.fromEntries(
      rows.map(({ id, axes }) => [id, passes.map((letters) => axes.map((axis) => sizeOf(axis, letters)))]),
    ),
  ),
);
