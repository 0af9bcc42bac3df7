/** Reads [{config, dtype, contexts}] on standard input; writes what the calculator says of each as JSON. */

import { readFileSync } from "node:fs";
import { readConfig } from "../../../kvscope/static/memory/config.js";
import { parameters } from "../../../kvscope/static/shared/sizes/parameters.js";
import { layerBytesPerToken, requestBytes } from "../../../kvscope/static/shared/sizes/sizes.js";

const answers = JSON.parse(readFileSync(0, "utf8")).map(({ config, dtype, contexts }) => {
  const { model, notes, relevant, problem } = readConfig(JSON.stringify(config));
  if (problem) return { problem };
  const { layers, window, kv_shared: reusing = 0 } = model;
  return {
    notes,
    relevant,
    parameters: parameters(model).total.value,
    layer: layerBytesPerToken(model, { dtype }).value,
    window: window && {
      tokens: window.tokens,
      layers: window.layers.filter((layer) => layer < layers - reusing).length,
    },
    bytes: contexts.map((context) => requestBytes(model, context, { dtype }).value),
  };
});
process.stdout.write(JSON.stringify(answers));
