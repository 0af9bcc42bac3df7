/** The files that a saved session can be saved as, and the check of a file before upload. Pure. */

import { bytesShort } from "../facts/format.js";
import { msg } from "../words/msg.js";

const PAGES = [
  {
    level: "attention",
    name: msg`Page with attention only`,
    text: msg`Every attention weight and all token probabilities.`,
  },
  { level: "qkv", name: msg`Page with Q, K and V too`, text: msg`Heads and dot products show exact values.` },
  {
    level: "block",
    name: msg`Page with every value in the blocks`,
    text: msg`The block view shows exact values too. This is the largest file.`,
  },
];

/** The page of a workload, which has no exact values. */
const PAGE = { level: null, name: msg`Page`, text: msg`The whole workload. It plays, and describes each pass.` };

const LEVELS = PAGES.map(({ level }) => level);

/**
 * @param {{values?: {level: string}|null, workload?: Object}} manifest of a session
 * @returns {{kind: string, level: string|null, name: string, text: string, there: boolean}[]} `kind`: "html" or "safetensors"; `there`:
 *   whether its content is stored with the session
 */
export function filesOf({ values, workload }) {
  const stored = LEVELS.indexOf(values?.level ?? "attention");
  const pages = workload
    ? [{ ...PAGE, kind: "html", there: true }]
    : PAGES.map((page) => ({ ...page, kind: "html", there: LEVELS.indexOf(page.level) <= stored }));
  const data = {
    kind: "safetensors",
    level: null,
    name: msg`Data for your own code`,
    text: msg`All stored data, as .safetensors.`,
    there: true,
  };
  return [...pages, data];
}

/** @returns {string} "0.76 MB"; "" until the size is known */
export function sizeOf(bytes) {
  return bytes === undefined ? "" : bytesShort(bytes);
}

/** @returns {string|null} why a file cannot be sent; null if it can */
export function fileRefusal({ name, size }, limit) {
  if (size === 0) return msg`“${name}” is empty.`;
  if (size <= limit) return null;
  return msg`“${name}” has ${bytesShort(size)}; at most ${bytesShort(limit)} are allowed.`;
}
