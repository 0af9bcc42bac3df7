/** Answers with the shapes of a step that the page computes from the source and the sizes in a log. */

import { readFileSync } from "node:fs";
import { shapesOf } from "../../../../kvscope/static/stage/code/shapes.js";

const { source, model, pass } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(shapesOf(source, model, pass)));
