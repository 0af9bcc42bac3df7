/** The drawing of one layer: ribbons under a canvas of values, labels over it, and the value at the pointer or the cursor. */

import { html } from "htm/preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { readersOf } from "../../../shared/facts/attention.js";
import { imageOf, Surface } from "../../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { Tooltip } from "../../ui/tooltip.js";
import { cutTo, hitBlock } from "./draw/boxes.js";
import { clipOf, drawBlock, paintBlock } from "./draw/cells.js";
import { placedColumns } from "./draw/columns.js";
import { tallGeometry } from "./draw/tall.js";
import { foldedGeometry, wideGeometry } from "./draw/wide.js";
import { valueFacts } from "./facts.js";
import { BlockHeads } from "./heads.js";
import { BlockLabels } from "./labels.js";
import { BlockLegend } from "./legend.js";
import { BlockMarks } from "./marks.js";
import { BlockRibbons } from "./ribbons.js";
import { placeUnder, useCursor } from "./use-cursor.js";

/** Below this width the MLP half lies under the attention half; below the next, the flow goes down, not across. */
const WIDE_FROM_PX = 1030;
const FOLDED_FROM_PX = 740;
/** How much a cut of the drawing is enlarged at most, and how much of the window's height it may take then. */
const LARGEST = 2;
const SHARE_OF_HEIGHT = 0.72;
/** Less than the space around the named boxes, which stay whole. */
const FADE_PX = 20;
const LABELS = ".block-labels text, .block-chip, .block-plus";

export function BlockDrawing(props) {
  const [ref, size] = useSize();
  return html`<div class="block-room still anchor" data-holds=${props.named?.join(" ")}>
    <div class="block-probe" ref=${ref}></div>
    ${size && html`<${Drawing} ...${props} size=${size} />`}
  </div>`;
}

function useGeometry({ dims, first, positions, query }, size, centre) {
  return useMemo(() => {
    const { width } = size;
    const layout = width >= WIDE_FROM_PX ? wideGeometry : width >= FOLDED_FROM_PX ? foldedGeometry : tallGeometry;
    return layout({ ...size, dims, keys: { first, count: positions, own: query, centre } });
  }, [size, JSON.stringify(dims), first, positions, query, centre]);
}

/** @param {Object} props `named`: tensors that the drawing is cut to; null: all of it is shown */
function Drawing({ scene, waiting, centre, onMove, opened, onOpen, hover, lit, named, size, dispatch }) {
  const theme = useTheme();
  const ratio = useRatio();
  const geometry = useGeometry(scene, size, centre);
  const { values } = scene;
  const clips = useMemo(
    () => Object.fromEntries(Object.entries(values).map(([name, { data }]) => [name, clipOf(data)])),
    [values],
  );
  const image = useMemo(
    () => imageOf(paintBlock(values, { theme, clips }, { geometry, ratio })),
    [values, theme, clips, geometry, ratio],
  );
  const masked = useMemo(() => maskedSpan(geometry, scene), [geometry, scene]);
  const draw = useCallback(
    (context) => drawBlock(context, image, { geometry, masked, theme }),
    [image, geometry, masked, theme],
  );

  // These depend on the drawing only: a moving pointer renders just the marks again.
  const under = useMemo(() => html`<${BlockRibbons} geometry=${geometry} scene=${scene} />`, [geometry, scene]);
  const over = useMemo(
    () => html`<${BlockLabels} geometry=${geometry} scene=${scene} named=${named} />
      <${BlockHeads} geometry=${geometry} scene=${scene} dispatch=${dispatch} />`,
    [geometry, scene, named?.join(), dispatch],
  );
  const legend = useMemo(
    () =>
      html`<${BlockLegend} scene=${scene} waiting=${waiting} geometry=${geometry} theme=${theme} onMove=${onMove} />`,
    [scene, waiting, geometry, theme, onMove],
  );

  const leave = () => {
    dispatch({ type: "hover", hover: null });
    dispatch({ type: "point", names: [] });
  };
  useEffect(() => leave, [dispatch]);
  const [pointer, setPointer] = useState(null);
  const cursor = useCursor(scene, geometry);
  const pointed = pointer ? hitBlock(geometry, pointer.x, pointer.y) : cursor.place;
  const name = pointed?.tensor;
  useEffect(() => dispatch({ type: "point", names: name ? [name] : [] }), [name, dispatch]);
  // The panel shows the opened number, so it gets no tooltip.
  const facts = pointed && !samePlace(pointed, opened) && valueFacts(scene, pointed);

  const onPointerMove = (event) => {
    const at = pointInside(event);
    const place = hitBlock(geometry, at.x, at.y);
    setPointer(place ? at : null);
    highlight(highlightOf(scene, place), hover, dispatch);
  };
  const onPointerLeave = ({ pointerType }) => {
    if (pointerType === "touch") return; // a touch ends at once; its tooltip must stay
    setPointer(null);
    highlight(null, hover, dispatch);
  };
  const onClick = (event) => {
    const at = pointInside(event);
    const place = hitBlock(geometry, at.x, at.y);
    if (place) cursor.put(place);
    if (place) activate(place);
  };
  const activate = (place) => {
    const selection = selectionAt(scene, place);
    if (selection) dispatch({ type: "select", selection });
    else if (place.key === null) onOpen(place);
  };
  const onKeyDown = (event) => {
    if (event.key === "Enter" && cursor.place) activate(cursor.place);
    else cursor.onKeyDown(event);
  };
  const beside = pointer ?? (pointed && placeUnder(geometry, pointed));

  const cut = useMemo(() => named && cutTo(geometry, named), [geometry, named?.join()]);
  const drawing = html`<div
      class="block-drawing anchor" data-points style=${`width:${geometry.width}px;height:${geometry.height}px${cut ? `;translate:${-cut.x}px ${-cut.y}px` : ""}`}
      onPointerDown=${onPointerMove} onPointerMove=${onPointerMove} onPointerLeave=${onPointerLeave} onClick=${onClick}
    >
      ${under}
      <${Surface} width=${geometry.width} height=${geometry.height} ratio=${ratio} draw=${draw} />
      ${over}
      <${BlockMarks} geometry=${geometry} scene=${scene} pointed=${pointed} hover=${hover} lit=${lit} />
      <div
        class="block-cursor untouched" role="application" tabindex="0" aria-roledescription=${msg`values of the layer`}
        aria-label=${msg`Arrow keys move between values, Page Up and Page Down between vectors; Enter opens a value`}
        aria-describedby="block-value"
        onKeyDown=${onKeyDown} onFocus=${cursor.onFocus} onBlur=${cursor.onBlur}
      ></div>
      <p id="block-value" class="visually-hidden" aria-live="polite">
        ${cursor.place && factsText(valueFacts(scene, cursor.place))}
      </p>
      ${facts && beside && html`<${Tooltip} at=${beside} box=${geometry} ...${facts} />`}
    </div>`;
  return cut
    ? html`<${Cut} cut=${cut} geometry=${geometry} zoom=${enlarged(cut, size.width)} scene=${scene}>${drawing}<//>`
    : html`${drawing} ${legend}`;
}

/** A part of the drawing, enlarged. It fades where the drawing goes on, and labels that its edge would cut are left out. */
function Cut({ cut, geometry, zoom, scene, children }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const edge = ref.current.getBoundingClientRect();
    for (const label of ref.current.querySelectorAll(LABELS)) {
      label.style.visibility = isInside(label.getBoundingClientRect(), edge) ? "" : "hidden";
    }
  }, [cut, zoom, scene]);
  const fades = {
    left: cut.x > 0,
    top: cut.y > 0,
    right: cut.x + cut.width < geometry.width,
    bottom: cut.y + cut.height < geometry.height,
  };
  const sides = Object.keys(fades).filter((side) => fades[side]);
  return html`<div
    class="block-cut" ref=${ref}
    style=${`width:${cut.width}px;height:${cut.height}px;zoom:${zoom};${sides.map((side) => `--fade-${side}:${FADE_PX}px`).join(";")}`}
  >${children}</div>`;
}

function isInside(box, edge) {
  return box.left >= edge.left && box.right <= edge.right && box.top >= edge.top && box.bottom <= edge.bottom;
}

/** @returns {number} by how much a cut is enlarged: it is as wide as its room, and in sight as a whole unless that would shrink it */
function enlarged(cut, width) {
  const whole = Math.max(1, (SHARE_OF_HEIGHT * window.innerHeight) / cut.height);
  return Math.min(LARGEST, width / cut.width, whole);
}

function samePlace(one, other) {
  return ["tensor", "part", "index", "key"].every((name) => one[name] === other?.[name]);
}

function factsText({ title, value, notes }) {
  return [title, value, ...notes].join("; ");
}

/** Columns after the row's own position, from the left edge of a lane. */
function maskedSpan({ columns }, { query }) {
  const next = placedColumns(columns).find(({ position }) => position > query);
  return next ? { x0: next.x0, x1: columns.width } : null;
}

/** The part of a place that the rest of the page can highlight. */
function highlightOf(scene, place) {
  if (!place || place.key === null || place.key > scene.query) return null;
  const { layer, query } = scene;
  if (place.tensor.startsWith("cache.")) return { layer, kvHead: place.part, key: place.key };
  return { layer, head: place.part, query, key: place.key };
}

function highlight(place, hover, dispatch) {
  const same = ["layer", "head", "kvHead", "query", "key"].every((name) => place?.[name] === hover?.[name]);
  if (!same) dispatch({ type: "hover", hover: place });
}

/** What a click selects: a weight or score opens its pair, a column of the cache its token. Other values open in the panel. */
function selectionAt(scene, { tensor, part, key }) {
  const { layer, query, run } = scene;
  if (tensor === "attn.scores" || tensor === "attn.weights") {
    return key > query ? null : { layer, head: part, query, key, view: "pair" };
  }
  if (!tensor.startsWith("cache.") || key > query) return null;
  return { key, head: readersOf(run, part)[0] };
}
