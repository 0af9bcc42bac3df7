/** The map: every layer, head and cached position of one step in one grid. */

import { html } from "htm/preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { headSentence, kvHeadOf } from "../../shared/facts/attention.js";
import { placeInWords } from "../../shared/facts/changes.js";
import { listed } from "../../shared/facts/format.js";
import { useGradually, useLater } from "../../shared/painting/later.js";
import { lensOf } from "../../shared/state/lens.js";
import { Surface } from "../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { msg } from "../../shared/words/msg.js";
import { Prefilling } from "../ui/prefilling.js";
import { Tooltip } from "../ui/tooltip.js";
import { usePainting } from "../ui/use-painting.js";
import { drawMap, mapParts, mapSize, paintMapPart, paintWaitingLayer } from "./cells.js";
import { factsAt } from "./facts.js";
import { hitMap, mapGeometry } from "./geometry.js";
import { MapLabels } from "./labels.js";
import { MapLegend } from "./legend.js";
import { Lens } from "./lens.js";
import { hitLens, isInLens, lensGeometry } from "./lens-geometry.js";
import { isVisible, legsAt } from "./lens-way.js";
import { mapView, normRanges, queryRange, waitingView } from "./scene.js";
import { mapShades } from "./shades.js";

export function ModelMap({ state, dispatch }) {
  const [ref, size] = useSize();
  const { run } = state;
  const begun = Boolean(run?.steps.length);
  const ranges = useRanges(run, begun);
  return html`<section class="map" aria-label=${msg`Model map`}>
    <div class="map-box scrolls anchor grow" ref=${ref}>
      ${
        run?.shows && size
          ? html`<${Grid}
        state=${state} dispatch=${dispatch} size=${size} ranges=${ranges}
      />`
          : html`<${Empty} state=${state} />`
      }
      ${run?.awaited && html`<div class="empty box muted centred is-over-map"><${Prefilling} run=${run} /></div>`}
    </div>
  </section>`;
}

/** @returns {Object|null} the scales of a run that has begun, computed in a later frame */
function useRanges(run, begun) {
  const [known, setKnown] = useState({ run: null, ranges: null });
  const later = useLater();
  useEffect(() => {
    if (!begun) return undefined;
    return later(() => setKnown({ run, ranges: normRanges(run) }));
  }, [run, begun, later]);
  return known.run === run ? known.ranges : null;
}

/** Says what an empty map waits for. */
function Empty({ state: { phase, run, opening } }) {
  const text =
    run && !run.close
      ? msg`Loading the run…`
      : opening
        ? msg`Waiting for the run to start…`
        : phase === "loading"
          ? msg`The model is loading.`
          : msg`Run a prompt to see every layer, every head and every cached key and value here.`;
  return html`<p class="empty muted centred" role="status">${text}</p>`;
}

/** The selection before the first step. */
const NOTHING = { layer: null, head: null, query: null, key: null };

/** @param {{state: Object, dispatch: Function, size: Object, ranges: Object|null}} props `ranges` null: empty cells are shown */
function Grid({ state, dispatch, size, ranges }) {
  const { run, step, reveal, layerStop, selection, hover } = state;
  const theme = useTheme();
  const ratio = useRatio();
  const [pointer, setPointer] = useState(null);
  const [focused, setFocused] = useState(false);
  const pressed = useRef(null);

  const view = useMemo(() => (ranges ? mapView(run, step) : waitingView(run)), [run, step, ranges]);
  const rangeOfQueries = useMemo(() => lazily(() => queryRange(run)), [run]);
  const shades = useMemo(() => ranges && mapShades(run, ranges), [run, ranges]);
  const geometry = useMemo(() => mapGeometry({ ...size, ...view }), [size, run, view.columns]);
  const picture = useMemo(
    () => ({
      ...mapSize({ geometry, ratio }),
      parts: shades ? mapParts(view) : view.layers,
      paint: (target, part) =>
        (shades ? paintMapPart : paintWaitingLayer)(target, view, part, { shades, theme }, { geometry, ratio }),
      continues: view.prefill ? null : run.id,
    }),
    [run, view, shades, theme, geometry, ratio],
  );
  const { image, painted } = usePainting(picture);
  const draw = useCallback(
    (context) => drawMap(context, image, { view, reveal: shades ? reveal : view.layers, theme }, { geometry }),
    [image, painted, view, shades, reveal, theme, geometry],
  );
  const lens = useLens(shades ? lensOf(state) : null, { geometry, view });
  const covered = lens?.at.card ?? null;

  const written = useGradually(1, { first: 0, more: 1 }) === 1;
  const complete = ranges !== null && reveal >= view.layers && !layerStop;
  const labels = useMemo(
    () =>
      written &&
      html`<${MapLabels}
        geometry=${geometry} run=${run} step=${step} view=${view} selection=${ranges ? selection : NOTHING}
        hover=${hover} complete=${complete} covered=${covered}
      />`,
    [written, geometry, run, step, view, ranges, selection, hover, complete, covered],
  );
  const legend = useMemo(
    () =>
      written &&
      html`<${MapLegend}
        geometry=${geometry} ranges=${ranges} theme=${theme} reused=${view.reused}
      />`,
    [written, geometry, ranges, theme, view.reused],
  );

  const hitAt = ({ x, y }) => {
    if (!ranges) return null;
    if (lens && isInLens(lens.at, x, y)) {
      const hit = hitLens(lens.at, geometry, view, x, y);
      return hit && isVisible(hit, view, lens.legs) ? hit : null;
    }
    const hit = hitMap(geometry, view, x, y);
    return hit && layerShown(hit, view, reveal) ? hit : null;
  };
  const under = (at) => {
    const hit = hitAt(at);
    return { hit, facts: hit && factsAt(run, step, hit) };
  };
  const onPointerMove = (event) => {
    const at = pointInside(event);
    const { facts } = under(at);
    if (!facts) return onPointerLeave();
    setPointer(at);
    if (!samePlace(facts.place, hover)) dispatch({ type: "hover", hover: facts.place });
  };
  const onPointerLeave = () => {
    setPointer(null);
    if (hover) dispatch({ type: "hover", hover: null });
  };
  // A press also skips the animation and closes the lens, so the click uses what was under the pointer at the press.
  const onPointerDown = (event) => {
    pressed.current = under(pointInside(event));
  };
  const onClick = (event) => {
    const { hit, facts } = pressed.current ?? under(pointInside(event));
    pressed.current = null;
    if (facts) dispatch({ type: "select", selection: selectionFrom(run, view, selection, hit, facts.place) });
  };

  const newest = view.positions - 1;
  const sentence = useMemo(
    () => headSentence(run, selection.layer, selection.head, Math.min(selection.query ?? newest, newest)),
    [run, view, selection],
  );
  const pointed = pointer && under(pointer).facts;
  // Another step can have another cell under a pointer that does not move.
  useEffect(() => {
    if (pointed && !samePlace(pointed.place, hover)) dispatch({ type: "hover", hover: pointed.place });
  });
  return html`<div
      class="map-grid fill anchor"
      id="map-grid"
      role="application"
      tabindex="0"
      aria-roledescription=${msg`map of layers and heads`}
      aria-label=${msg`The arrow keys select layer and head`}
      aria-describedby=${run.open.changed ? "map-selected map-changed" : "map-selected"}
      style=${`height:${geometry.height}px`}
      onPointerMove=${onPointerMove}
      onPointerLeave=${onPointerLeave}
      onPointerDown=${onPointerDown}
      onClick=${onClick}
      onFocus=${() => setFocused(true)}
      onBlur=${() => setFocused(false)}
      onKeyDown=${(event) => onMapKey(event, run, selection, dispatch)}
    >
      <${Surface} width=${geometry.width} height=${geometry.height} ratio=${ratio} draw=${draw} />
      ${labels} ${legend}
      ${
        lens &&
        html`<${Lens}
        run=${run} step=${step} lens=${lens.at} legs=${lens.legs} view=${view} geometry=${geometry} shades=${shades}
        range=${rangeOfQueries()} theme=${theme} ratio=${ratio} marked=${markedIn(lens.at, run, selection, hover)}
        reader=${Math.min(view.prefill ? (selection.query ?? newest) : newest, newest)}
      />`
      }
      ${pointed && html`<${Tooltip} at=${pointer} box=${geometry} ...${pointed} />`}
    </div>
    <p id="map-selected" class="visually-hidden" aria-live=${focused ? "polite" : "off"}>${sentence}</p>
    ${run.open.changed && html`<p id="map-changed" class="visually-hidden">${changedInWords(run)}</p>`}`;
}

function changedInWords({ open, tokens }) {
  const places = listed(open.changed.changes.map((change) => placeInWords(change, tokens)));
  return msg`Outlined, because this run changes them: ${places}.`;
}

/** @returns {{at: Object, legs: Object, stands: boolean}|null} where the lens is and how far its animation is */
function useLens(shown, { geometry, view }) {
  const layer = shown?.layer ?? null;
  const at = useMemo(() => (layer === null ? null : lensGeometry(geometry, view, layer)), [geometry, view, layer]);
  return at && { at, legs: legsAt(shown), stands: shown.stands };
}

/** Returns the cells to highlight in the lens: those hovered in its layer, or else the selected ones. */
function markedIn({ layer }, run, selection, hover) {
  const { head, query, key } = selection;
  if (hover?.layer !== layer) return { head, query, key };
  const readers = run.heads / run.kvHeads;
  const readsIt = hover.kvHead === undefined || Math.floor(head / readers) === hover.kvHead;
  return {
    head: hover.head ?? (readsIt ? head : hover.kvHead * readers),
    query: hover.query ?? query,
    key: hover.key ?? key,
  };
}

function lazily(compute) {
  let value;
  return () => (value ??= compute());
}

/** Returns whether the layer has cells of this step: while it is being shown, the layers above its edge have none. */
function layerShown(hit, view, reveal) {
  if (hit.layer < reveal) return true;
  return hit.group !== "attention" && hit.positions[1] < view.firstQuery;
}

function samePlace(a, b) {
  return b !== null && ["layer", "head", "kvHead", "query", "key"].every((name) => a[name] === b[name]);
}

/** Returns the selection after a click, which locks its cell. On the newest query, it follows the newest row. */
function selectionFrom(run, view, selection, hit, place) {
  if (hit.group === "residual") return { layer: place.layer, query: place.query, key: null };
  if (hit.group === "attention")
    return {
      layer: place.layer,
      head: place.head,
      query: view.prefill ? (place.query ?? null) : null,
      key: place.key ?? null,
    };
  const head =
    kvHeadOf(run, selection.head) === place.kvHead ? selection.head : place.kvHead * (run.heads / run.kvHeads);
  const query = selection.query !== null && selection.query >= place.key ? selection.query : null;
  return { layer: place.layer, head, query, key: place.key };
}

const PAGE_LAYERS = 5;
const KEYS = {
  ArrowUp: ({ layer }) => ({ layer: layer + 1 }),
  ArrowDown: ({ layer }) => ({ layer: layer - 1 }),
  ArrowLeft: ({ head }) => ({ head: head - 1 }),
  ArrowRight: ({ head }) => ({ head: head + 1 }),
  PageUp: ({ layer }) => ({ layer: layer + PAGE_LAYERS }),
  PageDown: ({ layer }) => ({ layer: layer - PAGE_LAYERS }),
};

function onMapKey(event, run, selection, dispatch) {
  const move = KEYS[event.key];
  const enters = event.key === "Enter";
  if ((!move && !enters) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  if (enters) {
    dispatch({ type: "enter", selection: { view: "head" } });
    return;
  }
  const { layer, head } = { ...selection, ...move(selection) };
  const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
  dispatch({ type: "select", selection: { layer: within(layer, run.layers), head: within(head, run.heads) } });
}
