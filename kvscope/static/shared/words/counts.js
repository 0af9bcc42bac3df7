/** Counts with their nouns, for use inside sentences. Pure. */

import { integer } from "../facts/format.js";
import { form, msg, plural } from "./msg.js";

export function tokenCount(count) {
  const number = integer(count);
  return plural(count, form`${number} token`, form`${number} tokens`);
}

export function rowCount(count) {
  const number = integer(count);
  return plural(count, form`${number} row`, form`${number} rows`);
}

export function blockCount(count) {
  const number = integer(count);
  return plural(count, form`${number} block`, form`${number} blocks`);
}

export function stepCount(count) {
  const number = integer(count);
  return plural(count, form`${number} step`, form`${number} steps`);
}

export function passCount(count) {
  const number = integer(count);
  return plural(count, form`${number} pass`, form`${number} passes`);
}

export function requestCount(count) {
  const number = integer(count);
  return plural(count, form`${number} request`, form`${number} requests`);
}

export function gpuCount(count) {
  const number = integer(count);
  return plural(count, form`${number} GPU`, form`${number} GPUs`);
}

/** @returns {string} "Step 3", or "Steps 0 to 3" */
export function stepsInWords(first, last) {
  return first === last ? msg`Step ${first}` : msg`Steps ${first} to ${last}`;
}

/** @returns {string} "Position 3", or "Positions 0 to 3" */
export function positionsInWords(first, last) {
  return first === last ? msg`Position ${first}` : msg`Positions ${first} to ${last}`;
}
