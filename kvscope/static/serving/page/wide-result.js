/** The result of an experiment that needs more room than its card has, after each round. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { resultOf } from "../results.js";
import { ConversationResult } from "./conversation-result.js";
import { LoadResult } from "./load-result.js";

/** By experiment: those with `details`. */
const WIDE = { load: LoadResult, conversation: ConversationResult };

/** @param {{log: import("../workload-log.js").Workload, over: number}} props `over`: how many rounds are over */
export function WideResult({ log, over }) {
  const result = useMemo(() => (over > 0 && log.rounds.length > 1 ? resultOf(log) : null), [log, over]);
  const Wide = result && WIDE[result.experiment.id];
  return Wide ? html`<${Wide} result=${result} log=${log} />` : null;
}
