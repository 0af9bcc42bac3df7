/** Whether this page can start runs, and whether the settings of a new run are valid; the server checks them again. Pure. */

import { limitOf } from "../../shared/log/limits.js";
import { msg } from "../../shared/words/msg.js";

/**
 * Number settings in the order they are shown; a setting without `above` is a whole number. `above`: the lower bound itself is not
 * allowed; `step`: what the arrow keys add; `drawn`: greedy choice ignores it.
 */
export const NUMBERS = [
  { name: "temperature", label: msg`temperature`, term: "temperature", above: true, step: 0.05, width: 4, drawn: true },
  { name: "top_k", label: msg`top-k`, term: "top-k", step: 1, width: 4, drawn: true, title: msg`0 keeps every token` },
  {
    ...{ name: "top_p", label: msg`top-p`, term: "top-p", above: true, step: 0.01, width: 4, drawn: true },
    title: msg`1 keeps every token`,
  },
  { name: "seed", label: msg`seed`, term: "seed", step: 1, width: 5, drawn: true },
  { name: "max_new_tokens", label: msg`new tokens`, step: 1, width: 5, drawn: false },
];

/**
 * @returns {boolean} whether the viewer can run their own prompt: not in an embed or a file; in a static site, if this device can
 *   compute; in a frame without an origin, not on a server
 */
export function canAsk({ embed, file, inSite, engine, sandboxed }) {
  return !embed && !file && (inSite ? engine !== "" : !sandboxed);
}

/** @returns {boolean} whether the page can show the computation in PyTorch: no file and no notebook's kernel gives it the code */
export function hasCode({ file, kernel }) {
  return !file && !kernel;
}

/** @returns {boolean} whether this device computes the runs that this page starts */
export function computesHere({ engine, here, inSite }) {
  return engine === "default" || (engine !== "" && (here || inSite));
}

/** @returns {boolean} whether this device can be chosen instead of the server */
export function canComputeHere(state) {
  return state.engine !== "" && !computesHere(state);
}

/** @returns {boolean} whether the prompt form is open; it is always open while there is no run to show */
export function isAsking(state) {
  return canAsk(state) && (state.asking || (state.phase === "idle" && !state.run));
}

/**
 * @param {Object} request {prompt, sampling, maxNewTokens}
 * @param {import("../../shared/log/limits.js").Limits} limits
 * @returns {null|{title: string, detail: string, field: string, limit: number|number[]}} the first problem
 */
export function requestProblem({ prompt, sampling, maxNewTokens }, limits) {
  const values = { ...sampling, max_new_tokens: maxNewTokens };
  const problems = NUMBERS.map((setting) => numberProblem(setting, values[setting.name], limits));
  return promptProblem(prompt, limitOf(limits, "run", "prompt")) ?? problems.find((problem) => problem) ?? null;
}

function promptProblem(prompt, limit) {
  if (prompt === "") {
    const detail = msg`Type at least one character.`;
    return { title: msg`The prompt is empty`, detail, field: "prompt", limit };
  }
  const length = [...prompt].length;
  const [, most] = limit;
  if (length <= most) return null;
  return {
    title: msg`The prompt is too long`,
    detail: msg`It has ${length} characters; at most ${most} are allowed.`,
    field: "prompt",
    limit: most,
  };
}

/** @param {{name: string, label: string, above?: boolean}} setting */
function numberProblem({ name, label, above }, value, limits) {
  const [low, high] = limitOf(limits, "run", name);
  const inside = above ? value > low && value <= high : Number.isInteger(value) && value >= low && value <= high;
  if (inside) return null;
  return {
    title: msg`The value of ${label} cannot be used`,
    detail: above
      ? msg`It must be above ${low} and at most ${high}.`
      : msg`It must be a whole number from ${low} to ${high}.`,
    field: name,
    limit: [low, high],
  };
}
