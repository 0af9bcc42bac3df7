/**
 * The answers of the browser's engine to questions about runs and the vocabulary (docs/frames.md), by name. Each takes the engine, the
 * outline of the run's log or null, and the parameters of the request; it returns {tensors} or {value}, which is JSON, and throws Refused.
 */

import { contributions } from "./contributions.js";
import { effects } from "./effects.js";
import { block, head } from "./exact.js";
import { positions } from "./positions.js";
import { candidates, lens, losses } from "./predictions.js";
import { algebra, operations } from "./twice.js";
import { values } from "./values.js";
import { embedding, token, tokens, words } from "./vocabulary.js";
import { matrix, weights } from "./weights.js";

export const ANSWERS = {
  ...{ head, block, contributions, algebra, operations, positions, values },
  ...{ lens, candidates, losses, effects },
  ...{ weights, matrix },
  ...{ token, tokens, embedding, words },
};
