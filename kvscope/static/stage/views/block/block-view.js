/** Zoom "block": a drawing of one layer for one row, with the shape and the values of every operation. */

import { html } from "htm/preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { fixed } from "../../../shared/facts/format.js";
import { TO_GET_THEM } from "../../../shared/facts/saved-session.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Fetched } from "../../../shared/ui/fetched.js";
import { msg } from "../../../shared/words/msg.js";
import { useModelValues } from "../../state/use-model-values.js";
import { Fold } from "../../ui/fold.js";

import { BlockControls } from "./controls.js";
import { BlockDrawing } from "./drawing.js";
import { BlockNumbers } from "./numbers.js";
import { blockScene } from "./scene.js";
import { sentence } from "./words.js";

const SHARDS = async () => (await import("./shards.js")).Shards;
const ROUTING = async () => (await import("./routing.js")).Routing;
const CONTRIBUTIONS = async () => (await import("./contributions.js")).Contributions;
const NAMES = async () => (await import("./other-names.js")).OtherNames;
const OPENED = async () => (await import("./opened.js")).Opened;

export function BlockView({ state, focus, dispatch, client }) {
  const { run, selection } = state;
  const layer = selection.layer;
  const query = Math.min(selection.query ?? focus.newest, focus.newest);
  const { scene, status, stored } = useScene({ state, client, layer, query });
  const [centre, setCentre] = useState(null);
  const around = centre?.query === scene.query ? centre.position : (selection.key ?? scene.query);
  const [opened, setOpened] = useState(null);
  const onMove = useCallback((position) => setCentre({ query: scene.query, position }), [scene.query]);
  return html`
    <${BlockControls} run=${run} scene=${scene} newest=${focus.newest} locked=${selection.query !== null} dispatch=${dispatch} />
    <${Note} status=${status} stored=${stored} />
    ${run.open.model.experts && html`<${Experts} layer=${layer} experts=${scene.experts} of=${run.open.model.experts} />`}
    <${BlockDrawing}
      scene=${scene} waiting=${status === "loading"} centre=${around} onMove=${onMove} hover=${state.hover} lit=${state.lit} named=${namedIn(selection.focus)}
      opened=${opened} onOpen=${setOpened} dispatch=${dispatch}
    />
    ${
      opened &&
      scene.exact &&
      opened.tensor in scene.values &&
      html`<${Fetched}
        of=${OPENED} place=${opened} scene=${scene} state=${state} client=${client} onOpen=${setOpened} onClose=${() => setOpened(null)} dispatch=${dispatch}
      />`
    }
    <${Sentence} scene=${scene} />
    ${scene.experts.length > 0 && html`<${Fold} class="block-fold" names="routing" name=${msg`Which experts the tokens went through`} of=${ROUTING} scene=${scene} newest=${focus.newest} />`}
    <${Fetched} of=${NAMES} dims=${scene.dims} />
    <${BlockNumbers} scene=${scene} />
    <${Fold} class="block-fold" names="contributions" name=${msg`What each head adds, and their sum`} of=${CONTRIBUTIONS} scene=${scene} head=${selection.head} state=${state} client=${client} dispatch=${dispatch} />
    ${!run.open.model.experts && html`<${Fold} class="block-fold" names="shards" name=${msg`The same layer on two devices`} of=${SHARDS} scene=${scene} state=${state} client=${client} />`}
  `;
}

/** @returns {string[]|null} tensors that the drawing is cut to; null: it is whole */
function namedIn(focus) {
  return focus && !focus.includes("inspector") ? focus.filter((name) => /[._]/.test(name)) : null;
}

/**
 * The exact values of a row in a layer. While they load, the drawing shows the weights of the log, never the values of another
 * layer or step. No values are requested for a run that is still writing, because that would delay its next token.
 */
function useScene({ state, client, layer, query }) {
  const { run, following } = state;
  const step = run.stepOfQuery(query);
  const request = following ? null : { run: run.id, step, layer, position: query };
  const { status, values, stored } = useModelValues(state, client.ask("block"), request, "block", layer);
  const scene = useMemo(() => blockScene(run, { layer, query }, values), [run, layer, query, values]);
  return { scene, status, stored };
}

const NOTES = {
  unavailable: msg`The exact values come from the model, which is not ready. The drawing shows the attention weights of the run’s log.`,
  none: `${msg`The drawing shows shapes, and the attention weights of the run’s log. All other values are not stored with this session, and its model cannot be asked for them here.`} ${TO_GET_THEM}`,
  damaged: msg`The exact values stored with this session are damaged. The drawing shows the attention weights of the run’s log.`,
  failed: msg`The model did not give the exact values. The drawing shows the attention weights of the run’s log.`,
  idle: msg`The run is still writing. Pause it to see every value; the drawing shows the attention weights of its log.`,
};

const STORED = msg`These values are stored with this session. Q, K and V are exact; scores, weights and head outputs are computed from them. The others are rounded to 16 bits.`;

/** Says where the values come from, unless it is the model. */
function Note({ status, stored }) {
  const note = stored && status === "ready" ? STORED : NOTES[status];
  return note ? html`<p class="block-note" role="status">${note}</p>` : null;
}

/** Names the experts of the row, or says that this layer has none. */
function Experts({ layer, experts, of }) {
  if (!experts.length)
    return html`<p class="block-note">${msg`Layer ${layer} has no experts: its MLP is one for all tokens.`}</p>`;
  const chosen = experts.map(({ expert, share }) => `${expert} (${fixed(share, 3)})`).join(", ");
  return html`<p class="block-note">
    ${msg`The MLP of this layer has ${of.count} experts. The router chose these for this token, with their shares: ${chosen}.`}
    <${Badge} origin="computed" />
  </p>`;
}

function Sentence({ scene }) {
  const { strong, text, cached, computed, delta } = sentence(scene);
  return html`<p class="block-sentence box">
    <b>${strong}</b> ${text} <b class="word-cached">${cached}</b>; <b class="word-computed">${computed}</b>. ${delta}${" "}
    <${Badge} origin="computed" />
  </p>`;
}
