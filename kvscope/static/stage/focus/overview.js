/** The map of a newcomer: a column of layers per token, the strongest look between two words, and the chosen token. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { percent, quoted } from "../../shared/facts/format.js";
import { pointInside, useSize } from "../../shared/ui/use-size.js";
import { msg } from "../../shared/words/msg.js";
import { ColumnsDrawing, columnsGeometry } from "../intro/picture.js";
import { shareAt } from "../intro/scene.js";
import { FIRST, withPart } from "../state/focus.js";
import { knownStep } from "../state/layer-sweep.js";
import { placeAt } from "./geometry.js";

/** Space between the top of a column and what was chosen. */
const ABOVE_PX = 16;

export function Overview({ state, dispatch }) {
  const [ref, size] = useSize();
  const ready = size && state.run?.steps.length > 0;
  return html`<section class="overview anchor" aria-label=${msg`All tokens and layers`} ref=${ref}>
    ${ready && html`<${Picture} state=${state} dispatch=${dispatch} size=${size} />`}
  </section>`;
}

function Picture({ state, dispatch, size }) {
  const { run, look, step, progress, reducedMotion } = state;
  const geometry = useMemo(() => columnsGeometry(run, step, size), [run, step, size]);
  const isKnown = knownStep(state) >= step;
  const shown = isKnown || reducedMotion ? 1 : progress;
  const open = (selection) =>
    dispatch({
      type: "select",
      selection: { ...selection, view: "head", focus: withPart(state.selection.focus ?? FIRST, "inspector") },
    });
  const onClick = (event) => {
    const place = placeAt(geometry, pointInside(event), run.promptLength + step);
    if (place) open({ layer: place.layer, query: place.position, key: null });
  };
  const label = msg`The layers of each token, from layer 0 at the bottom to layer ${run.layers - 1}`;
  return html`<div class="fill" role="img" aria-label=${label} onClick=${onClick}>
      <${ColumnsDrawing} run=${run} look=${look} moment="whole" progress=${shown} size=${size} step=${step} />
    </div>
    ${isKnown && step === 0 && look && html`<${Look} run=${run} look=${look} geometry=${geometry} onOpen=${() => open(look)} />`}
    ${isKnown && html`<${Chosen} state=${state} geometry=${geometry} dispatch=${dispatch} />`}`;
}

function Look({ run, look, geometry, onOpen }) {
  const { layer, head, query, key } = look;
  const [reader, other] = [query, key].map((position) => quoted(run.tokens[position], 12));
  return html`<button type="button" class="overview-label word-computed nowrap" style=${placed(shareAt(geometry, look))} onClick=${onOpen}>
    ${msg`${reader} reads ${other}: ${percent(run.weight(layer, head, query, key), 0)}`}
  </button>`;
}

function Chosen({ state, geometry, dispatch }) {
  const { run, step, selection } = state;
  const { token } = run.steps[step].data;
  const at = { x: geometry.center(run.lastQueryOfStep(step)), y: geometry.top - ABOVE_PX };
  const open = () =>
    dispatch({ type: "select", selection: { focus: withPart(selection.focus ?? FIRST, "next-token") } });
  return html`<button type="button" class="overview-label word-output nowrap" style=${placed(at)} onClick=${open}>
    ${token.forced ? quoted(token, 12) : msg`${quoted(token, 12)} ${percent(token.prob, 0)}`}
  </button>`;
}

const placed = ({ x, y }) => `left:${x.toFixed(1)}px;top:${y.toFixed(1)}px`;
