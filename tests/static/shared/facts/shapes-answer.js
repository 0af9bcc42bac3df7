/** Answers with the axes of hook points, and with the shapes of matrices in the model on the standard input. */

import { readFileSync } from "node:fs";
import { axesAt, axesOf, lettersOf, sizeOf } from "../../../../kvscope/static/shared/facts/shapes.js";

const { model, points, matrices } = JSON.parse(readFileSync(0, "utf8"));
const letters = lettersOf(model, { rows: 1, keys: 1 });
const shapeOf = (matrix) => axesOf(matrix).map((axis) => sizeOf(axis, letters));
const among = (names, of) => Object.fromEntries(names.map((name) => [name, of(name)]));
process.stdout.write(JSON.stringify({ points: among(points, axesAt), matrices: among(matrices, shapeOf) }));
