/** The result of an experiment that needs more room than its card has, after each round. */

import { html } from "htm/preact";
import { ConversationResult } from "./conversation-result.js";
import { FiguresResult } from "./figures-result.js";
import { LoadResult } from "./load-result.js";
import { TiersResult } from "./tiers-result.js";

/** By experiment: those with `details`. */
const WIDE = {
  load: LoadResult,
  conversation: ConversationResult,
  routing: FiguresResult,
  separate: FiguresResult,
  pipeline: FiguresResult,
  tier: TiersResult,
};

/** The id of its element. */
export const RESULT = "result";

/** @param {{log: import("../workload-log.js").Workload, result: import("../results.js").Result|null, gpus: Object[]}} props of the log in sight */
export function WideResult({ log, result, gpus }) {
  const Wide = result?.rounds.length ? WIDE[result.experiment.id] : null;
  return Wide
    ? html`<div class="stack tight" id=${RESULT}><${Wide} result=${result} log=${log} gpus=${gpus} /></div>`
    : null;
}
