/** The values that each panel saves as a table. Fetched when a table is first saved. */

import { headFocus } from "../inspector/focus.js";
import {
  cacheTable,
  candidatesTable,
  lensTable,
  mapTable,
  matrixTable,
  pairTable,
  tensorsTable,
  timeTable,
} from "./tables.js";

const nextToken = ({ run, step, whatIf }) => candidatesTable(run, step, whatIf ?? run.sampling);

/** The inspector's table has the values of its view; some are requested from the server. */
const VIEW_TABLES = {
  model: async ({ run, step }, client) => lensTable(await client.ask("lens")({ run: run.id, step })),
  block: async (state, client) => {
    const { layer, query } = headFocus(state);
    const { run } = state;
    return tensorsTable(
      await client.ask("block")({ run: run.id, step: run.stepOfQuery(query), layer, position: query }),
    );
  },
  head: (state) => matrixTable(state.run, state.step, headFocus(state)),
  pair: async (state, client) => {
    const { layer, head, query, key } = headFocus(state);
    const { run } = state;
    const step = run.stepOfQuery(query);
    return pairTable(await client.ask("head")({ run: run.id, step, layer, head }), run.rowInStep(query), key);
  },
  tokens: nextToken,
  cache: ({ run }) => cacheTable(run),
  time: ({ run }) => timeTable(run),
};

const TABLES = {
  map: ({ run, step }) => mapTable(run, step),
  inspector: (state, client) => VIEW_TABLES[state.selection.view](state, client),
  "next-token": nextToken,
  "kv-cache": VIEW_TABLES.cache,
  time: VIEW_TABLES.time,
};

/** @returns {Object|Promise<Object>} the values of a panel, {header, rows} */
export function tableOfPanel(panel, state, client) {
  return TABLES[panel](state, client);
}
