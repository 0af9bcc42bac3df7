/** Whole numbers of a page's fields: the last valid value of each, and the problem of an invalid text. */

import { useRef } from "preact/hooks";
import { readWhole } from "./whole.js";

/**
 * @param {Object<string, string>} texts of `useAddress`
 * @param {Object<string, {name: string, least: number, most: number, first: number}>} fields `first`: the value if the first text is invalid
 * @returns {{values: Object<string, number>, problems: Object<string, string>}}
 */
export function useNumbers(texts, fields) {
  const last = useRef({});
  const problems = {};
  for (const [id, field] of Object.entries(fields)) {
    const read = readWhole(texts[id], field);
    if ("value" in read) last.current[id] = read.value;
    else problems[id] = read.problem;
    last.current[id] ??= field.first;
  }
  return { values: { ...last.current }, problems };
}
