/** Which values each panel saves, and under which name. */

import { html } from "htm/preact";
import { headFocus } from "../inspector/focus.js";
import { fileName } from "./file-name.js";
import { PanelMenu } from "./panel-menu.js";
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

const nextToken = ({ run, step, whatIf }) => candidatesTable(run, step, whatIf ?? run.open.sampling);

/** The inspector's table is about what its view shows; some of that has to be asked for. */
const VIEW_TABLES = {
  model: async ({ run, step }, client) => lensTable(await client.lens({ run: run.id, step })),
  block: async (state, client) => {
    const { layer, query } = headFocus(state);
    const { run } = state;
    return tensorsTable(await client.block({ run: run.id, step: run.stepOfQuery(query), layer, position: query }));
  },
  head: (state) => matrixTable(state.run, state.step, headFocus(state)),
  pair: async (state, client) => {
    const { layer, head, query, key } = headFocus(state);
    const { run } = state;
    const step = run.stepOfQuery(query);
    return pairTable(await client.head({ run: run.id, step, layer, head }), run.rowInStep(query), key);
  },
  tokens: nextToken,
  cache: ({ run }) => cacheTable(run),
  time: ({ run }) => timeTable(run),
};

/** `file`: what it is called in file names; null: as the view is. */
const PANELS = {
  "Model map": { file: "map", table: ({ run, step }) => mapTable(run, step) },
  Inspector: { file: null, table: (state, client) => VIEW_TABLES[state.selection.view](state, client) },
  "Next token": { file: "next-token", table: nextToken },
  "KV cache": { file: "kv-cache", table: VIEW_TABLES.cache },
  Time: { file: "time", table: VIEW_TABLES.time },
};

/** @param {{panel: string, state: Object, client: Object}} props `panel`: a name of PANELS */
export function PanelSaver({ panel, state, client }) {
  const { run, selection } = state;
  if (!run?.steps.length) return null;
  const { file, table } = PANELS[panel];
  return html`<${PanelMenu}
    panel=${panel}
    file=${fileName(state, file ?? selection.view)}
    table=${() => table(state, client)}
  />`;
}
