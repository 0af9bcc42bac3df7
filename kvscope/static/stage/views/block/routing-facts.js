/** Which experts the rows of a run went through, from its log. Pure. */

import { integer, quoted } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

/**
 * Returns the shades of a picture of routing.
 *
 * @param {{layer: number, position: number}[]} rows in the order of the lines
 * @returns {Uint8Array[]} a line per row, with a cell per expert: share × 255, and 0 where the expert was not chosen
 */
export function routingLines(run, rows) {
  const { count } = run.open.model.experts;
  return rows.map(({ layer, position }) => {
    const line = new Uint8Array(count);
    // A chosen expert stays visible, however small its share.
    for (const { expert, share } of run.experts(layer, position))
      line[expert] = Math.max(1, Math.round(255 * Math.min(1, share)));
    return line;
  });
}

/** @returns {{layer: number, position: number}[]} one row through all layers, the last layer first */
export function throughLayers(run, position) {
  return Array.from({ length: run.layers }, (_, index) => ({ layer: run.layers - 1 - index, position }));
}

/** @returns {{layer: number, position: number}[]} every row that the run computed up to a position, through one layer */
export function throughTokens(run, layer, newest) {
  return Array.from({ length: newest + 1 - run.reused }, (_, index) => ({ layer, position: run.reused + index }));
}

/** @returns {number[]} by expert, how many of the rows chose it */
export function chosenCounts(run, rows) {
  const counts = new Array(run.open.model.experts.count).fill(0);
  for (const { layer, position } of rows) for (const { expert } of run.experts(layer, position)) counts[expert] += 1;
  return counts;
}

/** @returns {string} how evenly a layer's experts were used */
export function usedSentence(run, layer, rows) {
  const counts = chosenCounts(run, rows);
  const [most, least] = [Math.max(...counts), Math.min(...counts)];
  const tokens = plural(rows.length, form`${integer(rows.length)} token`, form`${integer(rows.length)} tokens`);
  const [first, last] = [counts.indexOf(most), counts.indexOf(least)];
  return msg`Layer ${layer}: of ${tokens}, ${integer(most)} went through expert ${first}, the most used, and ${integer(least)} through expert ${last}, the least used.`;
}

/** @returns {string} a cell in words */
export function cellSentence(run, { layer, position }, expert) {
  const token = quoted(run.tokens[position]);
  const choice = run.experts(layer, position).find((each) => each.expert === expert);
  return choice
    ? msg`Layer ${layer}, ${token} at position ${position}: expert ${expert}, share ${choice.share.toFixed(3)}`
    : msg`Layer ${layer}, ${token} at position ${position}: expert ${expert} was not chosen`;
}
