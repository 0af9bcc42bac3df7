/** What a new run may be asked for, so that a wrong value is told at once. The server has the last word. Pure. */

/**
 * Number settings in the order they are shown. From `low` to the limit that `most` names, or `high`, both allowed unless
 * `above`; `step` is what the arrow keys add; `drawn`: greedy choice ignores it.
 */
export const NUMBERS = [
  {
    name: "temperature",
    label: "temperature",
    term: "temperature",
    low: 0,
    most: "temperature",
    above: true,
    step: 0.05,
    width: 4,
    drawn: true,
  },
  {
    name: "top_k",
    label: "top-k",
    term: "top-k",
    low: 0,
    most: "top_k",
    step: 1,
    width: 4,
    drawn: true,
    title: "0 keeps every token",
  },
  {
    name: "top_p",
    label: "top-p",
    term: "top-p",
    low: 0,
    high: 1,
    above: true,
    step: 0.01,
    width: 4,
    drawn: true,
    title: "1 keeps every token",
  },
  { name: "seed", label: "seed", term: "seed", low: 0, most: "seed", step: 1, width: 5, drawn: true },
  { name: "max_new_tokens", label: "new tokens", low: 1, most: "new_tokens", step: 1, width: 3, drawn: false },
];

/**
 * @param {Object} request {prompt, sampling, maxNewTokens}
 * @param {Object<string, number>} limits as the server tells them
 * @returns {null|{title: string, detail: string, field: string, limit: number|number[]}} the first thing that is wrong
 */
export function requestProblem({ prompt, sampling, maxNewTokens }, limits) {
  const values = { ...sampling, max_new_tokens: maxNewTokens };
  const problems = NUMBERS.map((setting) => numberProblem(setting, values[setting.name], highOf(setting, limits)));
  return promptProblem(prompt, limits) ?? problems.find((problem) => problem) ?? null;
}

/** @returns {number} a setting's upper bound */
export function highOf(setting, limits) {
  return setting.high ?? limits[setting.most];
}

function promptProblem(prompt, limits) {
  if (prompt === "") {
    const detail = "Type at least one character.";
    return { title: "The prompt is empty", detail, field: "prompt", limit: [1, limits.prompt_chars] };
  }
  const length = [...prompt].length;
  if (length <= limits.prompt_chars) return null;
  return {
    title: "The prompt is too long",
    detail: `It has ${length} characters; at most ${limits.prompt_chars} are taken.`,
    field: "prompt",
    limit: limits.prompt_chars,
  };
}

function numberProblem(setting, value, high) {
  const { name, label, low, step, above } = setting;
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
