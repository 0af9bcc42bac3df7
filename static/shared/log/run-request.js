/** What a new run may be asked for, so that a wrong value is told at once. The server has the last word. Pure. */

import { limitOf } from "./limits.js";

/**
 * Number settings in the order they are shown. `above`: more than the least; `step`: what the arrow keys add; `drawn`:
 * greedy choice ignores it.
 */
export const NUMBERS = [
  { name: "temperature", label: "temperature", term: "temperature", above: true, step: 0.05, width: 4, drawn: true },
  { name: "top_k", label: "top-k", term: "top-k", step: 1, width: 4, drawn: true, title: "0 keeps every token" },
  {
    ...{ name: "top_p", label: "top-p", term: "top-p", above: true, step: 0.01, width: 4, drawn: true },
    title: "1 keeps every token",
  },
  { name: "seed", label: "seed", term: "seed", step: 1, width: 5, drawn: true },
  { name: "max_new_tokens", label: "new tokens", step: 1, width: 3, drawn: false },
];

/**
 * @param {Object} request {prompt, sampling, maxNewTokens}
 * @param {import("./limits.js").Limits} limits
 * @returns {null|{title: string, detail: string, field: string, limit: number|number[]}} the first thing that is wrong
 */
export function requestProblem({ prompt, sampling, maxNewTokens }, limits) {
  const values = { ...sampling, max_new_tokens: maxNewTokens };
  const problems = NUMBERS.map((setting) => numberProblem(setting, values[setting.name], limits));
  return promptProblem(prompt, limitOf(limits, "run", "prompt")) ?? problems.find((problem) => problem) ?? null;
}

function promptProblem(prompt, limit) {
  if (prompt === "") {
    const detail = "Type at least one character.";
    return { title: "The prompt is empty", detail, field: "prompt", limit };
  }
  const length = [...prompt].length;
  const [, most] = limit;
  if (length <= most) return null;
  return {
    title: "The prompt is too long",
    detail: `It has ${length} characters; at most ${most} are taken.`,
    field: "prompt",
    limit: most,
  };
}

/** @param {{name: string, label: string, step: number, above?: boolean}} setting */
function numberProblem({ name, label, step, above }, value, limits) {
  const [low, high] = limitOf(limits, "run", name);
  const whole = step === 1;
  const inside = (above ? value > low : value >= low) && value <= high && (!whole || Number.isInteger(value));
  if (inside) return null;
  const bounds = above ? `above ${low}, at most ${high}` : `from ${low} to ${high}`;
  return {
    title: `The value of ${label} cannot be used`,
    detail: `It must be ${whole ? "a whole number " : ""}${bounds}.`,
    field: name,
    limit: [low, high],
  };
}
