/** Units as the page writes them. */

import { msg } from "../words/msg.js";

const LABELS = {
  tokens: msg`tokens`,
  requests: msg`requests`,
  rows: msg`rows`,
  numbers: msg`numbers`,
  pairs: msg`pairs`,
  projections: msg`projections`,
  "%": msg`% of the bytes`,
  "B/token": msg`B/token`,
};

/** @returns {string} the label of a `Result`'s unit */
export const unitLabel = (unit) => LABELS[unit] ?? unit;
