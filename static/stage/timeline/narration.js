/** One plain sentence about a step, built from the run's own numbers. */

import { timed } from "../../shared/facts/conditions.js";
import { bytes, integer, percent, quoted } from "../../shared/facts/format.js";
import { passesInWords } from "../../shared/facts/passes.js";

/** Characters of a token before it is cut, so that a sentence keeps to a line or two. */
const TOKEN_CHARS = 16;

/**
 * @param {import("../../shared/log/run.js").Run} run
 * @param {number} step
 * @param {boolean} sweeping the step is on its way: what it chooses and how long it takes is not known yet
 * @returns {string} what was computed, what the cache gave and took, what was chosen; "" when the step is not complete
 */
export function narrate(run, step, sweeping = false) {
  const shown = run.steps[step];
  if (!shown) return "";
  const { ms } = shown.data;
  const work = shown.data.phase === "prefill" ? prefillWork(run, sweeping) : decodeWork(run, step, sweeping);
  if (sweeping) return `Step ${step}, ${work}.`;
  return [`Step ${step}, ${work} (${timed(ms.total, shown.data)}).`, choice(shown.data), outcome(run, step)]
    .filter(Boolean)
    .join(" ");
}

function prefillWork(run, sweeping) {
  const { rows, data } = run.steps[0];
  const written = bytes(data.kv.bytes_written);
  if (run.reused) {
    const read = `${integer(run.reused)} of ${integer(run.promptLength)} prompt tokens ${sweeping ? "are" : "were"} read from the cache, where an earlier run had left them`;
    return `prefill: ${read}; ${integer(rows)} ${sweeping ? (rows === 1 ? "is" : "are") : rows === 1 ? "was" : "were"} computed, which ${sweeping ? "will add" : "added"} ${written} to it`;
  }
  const all = rows === 1 ? "the only prompt token goes" : `all ${integer(rows)} prompt tokens go`;
  return `prefill: ${all} through the model ${passesInWords(run)}, and ${written} of keys and values ${sweeping ? "will go" : "go"} into the cache`;
}

function decodeWork(run, step, sweeping) {
  const { data, firstQuery } = run.steps[step];
  const fed = quoted(run.tokens[firstQuery], TOKEN_CHARS);
  const before = firstQuery === 1 ? "the token before it" : `the ${integer(firstQuery)} tokens before it`;
  const cache = run.open.study?.cache;
  if (cache === "none") return `without a cache: ${fed} and ${before} are all computed again`;
  if (cache === "forgotten") return `cache forgotten: only ${fed} is computed, and ${before} cannot be seen`;
  const read = firstQuery === 1 ? "is read" : "are read";
  return `decode: only ${fed} is computed and ${sweeping ? "will add" : "adds"} ${bytes(data.kv.bytes_written)} to the cache; ${before} ${read} from it`;
}

function choice({ token }) {
  const name = quoted(token, TOKEN_CHARS);
  // Past the listed candidates the log does not know what the model gave a token.
  const share = token.prob === null ? null : percent(token.prob, 0);
  if (!token.forced) return `Next: ${name} (${share}).`;
  return share === null ? `The branch put ${name} next.` : `The branch put ${name} next (the model: ${share}).`;
}

const OUTCOMES = {
  eos: "With it the answer ends.",
  length: "Token limit reached.",
  stopped: "Here it was stopped.",
  failed: "Here the run failed.",
  interrupted: "Here it was interrupted.",
};

function outcome(run, step) {
  return step === run.steps.length - 1 ? OUTCOMES[run.close?.reason] : undefined;
}
