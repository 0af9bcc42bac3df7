/** Zoom "pair": one query and one key, from their dot product to the term that the key adds to the head's output. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bareLabel } from "../../../shared/facts/format.js";
import { lacking } from "../../../shared/facts/lacking.js";
import { TO_GET_THEM } from "../../../shared/facts/saved-session.js";
import { msg } from "../../../shared/words/msg.js";
import { Fold } from "../../ui/fold.js";
import { dotProduct } from "./dot-product.js";
import { Missing } from "./missing.js";
import { Mix } from "./mix.js";
import { pairSentence, vectorSentence, weightSentence } from "./sentences.js";
import { Terms } from "./terms.js";

const TILES = async () => (await import("./tile-by-tile.js")).TileByTile;

const NOTES = {
  idle: msg`Pause or choose a key to see its exact values.`,
  loading: msg`Computing the exact values…`,
};

/** Why no exact values are available. */
const MISSING = {
  none: `${msg`Exact values are not stored with this session, and its model cannot be asked for them here.`} ${TO_GET_THEM}`,
  unavailable: msg`The exact values come from the model, which is not ready.`,
  damaged: msg`The exact values stored with this session are damaged.`,
  failed: msg`The model did not give the exact values.`,
};

export function PairView({ state, focus, exact, dispatch }) {
  const { run, playing } = state;
  const { layer, head, query, key } = focus;
  const { status, values, row, stored } = exact;
  const first = run.firstKey(layer, query);
  const pair = useMemo(
    () => (values ? dotProduct(values, { row, key, query, first }) : null),
    [values, row, key, query, first],
  );
  const names = { query: bareLabel(run.tokens[query], 9), key: bareLabel(run.tokens[key], 9) };
  const weight = pair?.weight ?? run.weight(layer, head, query, key);
  const parts = { pair, names };
  return html`<div class="pair">
    <h2 aria-live=${playing ? "off" : "polite"}>${pairSentence(run, focus, weight)}</h2>
    <p class="muted">${vectorSentence(run, focus)} ${weightSentence(run, focus)}</p>
    ${
      MISSING[status]
        ? html`<${Missing} why=${lacking(run, ["scores"]) ?? MISSING[status]} run=${run} focus=${focus} dispatch=${dispatch} />`
        : html`<${Terms} ...${parts} headDim=${run.open.model.head_dim} scoreWidth=${run.open.model.score_width} scoreCap=${run.open.model.score_cap} note=${NOTES[status]} />`
    }
    ${
      pair &&
      html`<${Mix} ...${parts} run=${run} focus=${focus} values=${values} row=${row} stored=${stored} dispatch=${dispatch} />`
    }
    ${
      pair &&
      html`<${Fold}
        class="pair-part box pair-tiles" names="tiles" name=${msg`The same row, tile by tile`} of=${TILES}
        run=${run} focus=${focus} values=${values} row=${row} stored=${stored} still=${state.reducedMotion}
      />`
    }
  </div>`;
}
