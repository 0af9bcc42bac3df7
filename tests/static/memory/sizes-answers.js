/** Reads [{config, dtype, contexts}] on standard input; writes what the calculator says of each as JSON. */

import { readFileSync } from "node:fs";
import { readConfig } from "../../../static/memory/config.js";
import { parameters } from "../../../static/memory/parameters.js";
import { layerBytesPerToken, requestBytes } from "../../../static/memory/sizes.js";

const answers = JSON.parse(readFileSync(0, "utf8")).map(({ config, dtype, contexts }) => {
  const { model, notes, problem } = readConfig(JSON.stringify(config));
  if (problem) return { problem };
  return {
    notes,
    parameters: parameters(model).total.value,
    layer: layerBytesPerToken(model, { dtype }).value,
    window: model.window && { tokens: model.window.tokens, layers: model.window.layers.length },
    bytes: contexts.map((context) => requestBytes(model, context, { dtype }).value),
  };
});
process.stdout.write(JSON.stringify(answers));
