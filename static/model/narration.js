/** One plain sentence about a step, built from the run's own numbers. */

import { counted, milliseconds, percent, quoted } from "./format.js";

/**
 * @param {import("../contract/run.js").Run} run
 * @param {number} step
 * @param {{layer: number, head: number}} selection the head whose look is told
 * @returns {string} "" when the step is not complete
 */
export function narrate(run, step, selection) {
  const shown = run.steps[step];
  if (!shown) return "";
  const { data } = shown;
  const query = run.lastQueryOfStep(step);
  const fed =
    data.phase === "prefill"
      ? `prefill: ${counted(shown.rows, "token")} in at once`
      : `decode: one token in, ${quoted(run.tokens[query])}`;
  const parts = [`Step ${step}, ${fed}, ${milliseconds(data.ms.total)}`];
  const look = strongestLook(run, query, selection);
  if (look) {
    const where = `layer ${selection.layer}, head ${selection.head}: ${percent(look.weight, 0)}`;
    parts.push(`${quoted(run.tokens[query])} looks most at ${nameOf(run, look.key, query)} (${where})`);
  }
  parts.push(`${data.token.forced ? "was given" : "chose"} ${quoted(data.token)} with ${percent(data.token.prob, 0)}`);
  return `${parts.join("; ")}.`;
}

function nameOf(run, key, query) {
  if (key === query) return "itself";
  if (key === 0) return `${quoted(run.tokens[0])}, the first token`;
  return quoted(run.tokens[key]);
}

/** @returns {{key: number, weight: number}|null} the key that a row gives most of its weight to */
export function strongestLook(run, query, { layer, head }) {
  const row = run.row(layer, head, query);
  if (!row) return null;
  let key = 0;
  for (let other = 1; other < row.length; other++) if (row[other] > row[key]) key = other;
  return { key, weight: run.weight(layer, head, query, key) };
}
