/** Reads a list of configs on standard input; writes the shape that the calculator reads from each, or its problem, as JSON. */

import { readFileSync } from "node:fs";
import { readConfig } from "../../../kvscope/static/memory/config.js";

const answers = JSON.parse(readFileSync(0, "utf8")).map((config) => {
  const { model, problem } = readConfig(JSON.stringify(config));
  return problem ? { problem } : model;
});
process.stdout.write(JSON.stringify(answers));
