/** Frames of a workload on stdin; the lanes that the page draws for its first round on stdout. */

import { readFileSync } from "node:fs";
import { lanesOf } from "../../../kvscope/static/serving/lanes.js";
import { answersOf } from "../../../kvscope/static/serving/tally.js";
import { folded } from "./made.js";

const log = folded(JSON.parse(readFileSync(0, "utf-8")));
const [round] = log.rounds;
const answers = answersOf(round, log.study.requests);
const lanes = lanesOf(round, answers).map(({ request, reads, outputs, end }) => ({
  ...{ arrives: log.study.requests[request].arrives_ms, ends: end?.ms ?? null },
  ...{ reads: reads.map(({ from, to }) => [from, to]), words: outputs },
}));
process.stdout.write(JSON.stringify({ lanes, passes: round.passes.length }));
