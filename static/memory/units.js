/** Counts with their unit, and units as the page writes them. */

import { integer } from "../shared/facts/format.js";
import { form, msg, plural } from "../shared/words/msg.js";

export const tokenCount = (tokens) => plural(tokens, form`${integer(tokens)} token`, form`${integer(tokens)} tokens`);

export const requestCount = (requests) =>
  plural(requests, form`${integer(requests)} request`, form`${integer(requests)} requests`);

export const gpuCount = (gpus) => plural(gpus, form`${integer(gpus)} GPU`, form`${integer(gpus)} GPUs`);

const LABELS = { tokens: msg`tokens`, requests: msg`requests`, "B/token": msg`B/token` };

/** @returns {string} the label of a `Result`'s unit */
export const unitLabel = (unit) => LABELS[unit] ?? unit;
