/** Reads {summary, logits, sampling, step} on standard input, several of them; writes what is chosen from each. */

import { readFileSync } from "node:fs";
import { choose } from "../../../../kvscope/static/engine/sampling/choose.js";

const asked = JSON.parse(readFileSync(0, "utf-8"));
const chosen = asked.map(({ summary, logits, sampling, step }) =>
  choose({ finite: true, ...summary }, new Float32Array(logits), sampling, step),
);
process.stdout.write(JSON.stringify(chosen));
