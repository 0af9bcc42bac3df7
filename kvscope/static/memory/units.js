/** Units as the page writes them. */

import { msg } from "../shared/words/msg.js";

const LABELS = { tokens: msg`tokens`, requests: msg`requests`, "B/token": msg`B/token` };

/** @returns {string} the label of a `Result`'s unit */
export const unitLabel = (unit) => LABELS[unit] ?? unit;
