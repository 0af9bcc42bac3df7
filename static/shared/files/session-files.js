/** The files that a saved session can be had as, and what is said of a file that is opened. Pure. */

import { bytesShort } from "../facts/format.js";

const PAGES = [
  { level: "attention", name: "Page with attention only", text: "Every attention weight and all token probabilities." },
  { level: "qkv", name: "Page with Q, K and V too", text: "Heads and dot products show their exact numbers." },
  {
    level: "block",
    name: "Page with every value in the blocks",
    text: "The block view shows its numbers too. The largest file.",
  },
];

/** Of what has no exact values. */
const PAGE = { level: null, name: "Page", text: "All of it: it plays, and says what each pass did." };

const LEVELS = PAGES.map(({ level }) => level);

/**
 * @param {{values?: {level: string}|null, workload?: Object}} manifest of a session
 * @returns {{kind: string, level: string|null, name: string, text: string, there: boolean}[]} `kind`: "html" or "safetensors"; `there`: what
 *   it would hold is stored with the session
 */
export function filesOf({ values, workload }) {
  const stored = LEVELS.indexOf(values?.level ?? "attention");
  const pages = workload
    ? [{ ...PAGE, kind: "html", there: true }]
    : PAGES.map((page) => ({ ...page, kind: "html", there: LEVELS.indexOf(page.level) <= stored }));
  const data = {
    kind: "safetensors",
    level: null,
    name: "Data for your own code",
    text: "All that is stored, as .safetensors.",
    there: true,
  };
  return [...pages, data];
}

/** @returns {string} "0.76 MB"; "" until it is known */
export function sizeOf(bytes) {
  return bytes === undefined ? "" : bytesShort(bytes);
}

/** @returns {string|null} why a file is not worth sending; null when it is */
export function fileRefusal({ name, size }, limit) {
  if (size === 0) return `“${name}” is empty.`;
  if (size > limit) return `“${name}” has ${bytesShort(size)}; at most ${bytesShort(limit)} are taken.`;
  return null;
}
