/** Which experts the router chose: this token in every layer, and every token in this layer. From the log. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { gradient } from "../../../shared/draw/theme.js";
import { quoted } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Surface } from "../../../shared/ui/surface.js";
import { pointInside, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { paintLane, pixels } from "../../draw/pixels.js";
import { usePicture } from "../use-picture.js";
import { cellSentence, routingLines, throughLayers, throughTokens, usedSentence } from "./routing-facts.js";

/** All lines share this height in CSS pixels, within limits per line. */
const ROOM_PX = 240;
const LEAST_LINE_PX = 1;
const MOST_LINE_PX = 16;

/** @param {{scene: Object, newest: number}} props `newest`: the last row in sight */
export function Routing({ scene, newest }) {
  const { run, layer, query } = scene;
  const [cellText, setCellText] = useState("");
  const layers = useMemo(() => throughLayers(run, query), [run, query]);
  const tokens = useMemo(() => throughTokens(run, layer, newest), [run, layer, newest]);
  const theme = useTheme();
  const parts = { run, theme, onSay: setCellText };
  return html`<p class="sheet-say">${usedSentence(run, layer, tokens)} <${Badge} origin="computed" /></p>
    <div class="sheet-columns is-even">
      <${Grid} ...${parts} rows=${layers} name=${msg`${quoted(run.tokens[query])} in every layer, the last on top`} />
      <${Grid} ...${parts} rows=${tokens} name=${msg`Every token in layer ${layer}, the first on top`} />
    </div>
    <p class="row wide muted small">
      <span class="block-key"><i class="block-bar" style=${`background:${gradient(theme.attentionNow.css)}`}></i>${msg`share 0 to 1`}</span>
      <span>${msg`A column per expert, 0 to ${run.open.model.experts.count - 1}. Empty: not chosen.`}</span>
      <span role="status">${cellText || msg`Point at a cell to read it.`}</span>
    </p>`;
}

function Grid({ run, rows, name, theme, onSay }) {
  const [ref, size] = useSize();
  const { count } = run.open.model.experts;
  const line = Math.max(LEAST_LINE_PX, Math.min(MOST_LINE_PX, Math.floor(ROOM_PX / rows.length)));
  const [width, height] = [size?.width ?? 0, line * rows.length];
  const lines = useMemo(() => routingLines(run, rows), [run, rows]);
  const surface = usePicture({ width, height }, (ratio) => paint(lines, { theme }, { width, line, ratio }), [
    lines,
    theme,
  ]);
  const onPointerMove = (event) => {
    const { x, y } = pointInside(event);
    const [row, expert] = [rows[Math.floor(y / line)], Math.floor((x / width) * count)];
    onSay(row && expert < count ? cellSentence(run, row, expert) : "");
  };
  return html`<figure class="block-routing">
    <figcaption class="small">${name}</figcaption>
    <div
      class="anchor" role="img" aria-label=${name} ref=${ref} style=${`height:${height}px`}
      onPointerMove=${onPointerMove} onPointerLeave=${() => onSay("")}
    >${surface && html`<${Surface} ...${surface} />`}</div>
  </figure>`;
}

/** A line per row, a cell per expert; cells of experts that were not chosen have the colour of an empty place. */
function paint(lines, { theme }, { width, line, ratio }) {
  const target = pixels(Math.round(width * ratio), Math.round(lines.length * line * ratio));
  const colours = Uint32Array.from(theme.attentionNow.packed);
  colours[0] = theme.track;
  lines.forEach((shades, at) => {
    const [y0, y1] = [at, at + 1].map((edge) => Math.round(edge * line * ratio));
    const gap = line * ratio >= 4 ? 1 : 0;
    paintLane(target, { x0: 0, x1: target.width, y0, y1: y1 - gap, capacity: shades.length, shades, colours });
  });
  return target;
}
