/** Reads a list of `model` objects from standard input; writes what the page makes of each to standard output. */

import { readFileSync } from "node:fs";
import { completed } from "../../../../kvscope/static/shared/log/model.js";

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map(completed)));
