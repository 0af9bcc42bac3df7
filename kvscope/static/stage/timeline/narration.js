/** Sentences about a step, built from the run's own numbers. */

import { timed } from "../../shared/facts/conditions.js";
import { bytes, integer, percent, quoted } from "../../shared/facts/format.js";
import { firstOwnStep, isInherited } from "../../shared/facts/step-rows.js";
import { form, msg, plural } from "../../shared/words/msg.js";

/** Characters of a token before it is cut, so that the sentences fit in a line or two. */
const TOKEN_CHARS = 16;

/**
 * @param {import("../../shared/log/run.js").Run} run
 * @param {number} step
 * @param {boolean} sweeping the step is still being shown: what it chooses and how long it takes is left out
 * @returns {string} what is computed, what is read from and written to the cache, what was chosen; "" while the step is not complete
 */
export function narrate(run, step, sweeping = false) {
  const shown = run.steps[step];
  if (!shown) return "";
  const { data } = shown;
  if (isInherited(run, step)) return inheritedWork(run, step);
  const work = data.phase === "prefill" ? prefillWork(run) : decodeWork(run, step);
  if (sweeping) return work.join(" ");
  const time = data.ms && timed(data.ms.total, data);
  return [...work, time && msg`Time: ${time}.`, choice(data), outcome(run, step)].filter(Boolean).join(" ");
}

/** Returns sentences about a step that the run before the branch computed and timed. */
function inheritedWork(run, step) {
  const { data, rows, firstQuery } = run.steps[step];
  const [tokens, own, token] = [integer(rows), firstOwnStep(run), quoted(run.tokens[firstQuery], TOKEN_CHARS)];
  const time = timed(data.ms.total, data);
  return [
    step > 0
      ? msg`Step ${step}, decode: the run that this one branched from computed ${token}, in ${time}.`
      : plural(
          rows,
          form`Step 0, prefill: the run that this one branched from computed ${tokens} prompt token, in ${time}.`,
          form`Step 0, prefill: the run that this one branched from computed ${tokens} prompt tokens, in ${time}.`,
        ),
    msg`This run computes none of it: it begins with step ${own} and has K and V of the earlier tokens in its cache.`,
    choice(data),
  ].join(" ");
}

/** @returns {string[]} sentences */
function prefillWork(run) {
  const { rows, data } = run.steps[0];
  const written = data.kv && bytes(data.kv.bytes_written);
  const tokens = integer(rows);
  if (run.reused) {
    const [reused, all] = [integer(run.reused), integer(run.promptLength)];
    return [
      msg`Step 0, prefill: K and V of ${reused} of the ${all} prompt tokens come from the cache of an earlier run.`,
      plural(
        rows,
        form`The model computes ${tokens} token and writes ${written} to the cache.`,
        form`The model computes ${tokens} tokens and writes ${written} to the cache.`,
      ),
    ];
  }
  const passes = run.prefillPasses;
  return [
    passes > 1
      ? msg`Step 0, prefill: the model computes all ${tokens} prompt tokens in ${passes} passes through its layers.`
      : plural(
          rows,
          form`Step 0, prefill: the model computes the ${tokens} prompt token in one pass through its layers.`,
          form`Step 0, prefill: the model computes all ${tokens} prompt tokens in one pass through its layers.`,
        ),
    written && msg`It writes ${written} of keys and values (K and V) to the cache.`,
  ].filter(Boolean);
}

/** @returns {string[]} sentences */
function decodeWork(run, step) {
  const { data, firstQuery } = run.steps[step];
  const token = quoted(run.tokens[firstQuery], TOKEN_CHARS);
  const earlier = integer(firstQuery);
  const cache = run.open.study?.cache;
  if (cache === "none")
    return [
      msg`Step ${step}, without a cache: ${token} goes through the model.`,
      plural(
        firstQuery,
        form`It also computes ${earlier} earlier token again.`,
        form`It also computes all ${earlier} earlier tokens again.`,
      ),
    ];
  if (cache === "forgotten")
    return [
      msg`Step ${step}, cache cleared: only ${token} goes through the model.`,
      plural(
        firstQuery,
        form`It cannot read K and V of ${earlier} earlier token.`,
        form`It cannot read K and V of the ${earlier} earlier tokens.`,
      ),
    ];
  if (!data.kv) return [msg`Step ${step}, decode: ${token} is computed.`];
  const written = bytes(data.kv.bytes_written);
  const near = newestRead(run, firstQuery);
  if (near !== null)
    return [
      msg`Step ${step}, decode: only ${token} is computed.`,
      msg`It reads keys and values (K, V) of ${earlier} earlier tokens in global layers, of ${integer(near)} in local ones, and caches its own (${written}).`,
    ];
  return [
    msg`Step ${step}, decode: only ${token} is computed.`,
    plural(
      firstQuery,
      form`It reads keys and values (K, V) of ${earlier} earlier token and caches its own (${written}).`,
      form`It reads keys and values (K, V) of ${earlier} earlier tokens and caches its own (${written}).`,
    ),
  ];
}

/** @returns {number|null} how many earlier tokens a local layer reads, if that is fewer than global layers do */
function newestRead(run, query) {
  const { windows } = run.open.model;
  const fewest = Math.min(...(windows ?? []).filter((window) => window !== null)) - 1;
  return fewest < query ? fewest : null;
}

function choice({ token }) {
  const name = quoted(token, TOKEN_CHARS);
  // The log has the probability only of the listed candidates.
  const share = token.prob === null ? null : percent(token.prob, 0);
  if (!token.forced) return share === null ? msg`Next: ${name}.` : msg`Next: ${name} (${share}).`;
  if (share === null) return msg`This branch sets the next token to ${name}.`;
  return msg`This branch sets the next token to ${name}; the model gave it ${share}.`;
}

const OUTCOMES = {
  eos: msg`This token ends the answer.`,
  length: msg`The token limit is reached.`,
  stopped: msg`The run was stopped here.`,
  failed: msg`The run failed here.`,
  interrupted: msg`The run was interrupted here.`,
};

function outcome(run, step) {
  return step === run.steps.length - 1 ? OUTCOMES[run.close?.reason] : undefined;
}
