/** Where the runs differ inside: maps of attention and of lengths, and both rows of the selected head. */

import { html } from "htm/preact";
import { useEffect, useMemo } from "preact/hooks";
import { headSentence, kvHeadOf } from "../facts/attention.js";
import { percent, significant } from "../facts/format.js";
import { Badge } from "../ui/badge.js";
import { useNarrow } from "../ui/use-narrow.js";
import { useTheme } from "../ui/use-theme.js";
import { msg } from "../words/msg.js";
import { sameModel } from "./alignment.js";
import { DifferenceMap } from "./difference-map.js";
import { attentionRows, firstLayerOf, largestOf, lengthsOf, MAPS, mapOf, ROUNDING, sameShape } from "./differences.js";
import { TokenColumns } from "./token-columns.js";

const TITLES = { attention: msg`Attention`, residual: msg`Row`, k: "K", v: "V" };
/** The least difference for the strongest colour, unless there is a larger one: ln 2, half or twice as long. */
const STRONGEST = { attention: 0.5, residual: Math.LN2, k: Math.LN2, v: Math.LN2 };
const ROOM_PX = 320;
const CELL = { wide: { least: 6, most: 18, cell: 18 }, narrow: { least: 6, most: 14, cell: 13 } };
const FULL = 255;

/**
 * @param {{a: import("./differences.js").Side, b: import("./differences.js").Side, columns: Object[], place: {layer: number, head: number}, chosen: boolean,
 *   onPlace: (place: {layer?: number, head?: number}) => void}} props `chosen`: whether somebody chose the place
 */
export function MapsCard({ a, b, columns, place, chosen, onPlace }) {
  const same = sameShape(a, b);
  const maps = useMemo(
    () => (same ? MAPS.map((name) => ({ name, map: mapOf(name, columns, a, b) })) : []),
    [same, columns, a.run, b.run, a.step, b.step],
  );
  const shown = maps.filter(({ map }) => map.any);
  const largest = shown[0]?.name === "attention" ? largestOf(shown[0].map) : null;
  useEffect(() => {
    if (!chosen && largest?.value >= ROUNDING) onPlace({ layer: largest.layer, head: largest.at });
  }, [chosen, largest?.layer, largest?.at]);
  if (!same)
    return html`<${Frame}><p class="muted">${msg`The models have different layers or heads, so no head of one is at the place of a head of the other.`}</p><//>`;
  if (!shown.length)
    return html`<${Frame}><p class="muted">${msg`A log lacks attention and lengths of this step: a run without a cache or with reduced recording has none, and a run has none of the rows that it read from the cache.`}</p><//>`;
  return html`<${Frame}>
    ${!sameModel(a.run, b.run) && html`<p class="muted small">${msg`Two models of the same shape: a head of one need not do what the head at its place in the other does.`}</p>`}
    <${Maps} maps=${shown} largest=${largest} a=${a} b=${b} place=${place} onPlace=${onPlace} />
    <${Rows} a=${a} b=${b} columns=${columns} place=${place} />
  <//>`;
}

const Frame = ({
  children,
}) => html`<section class="own-card stack box compare-inside" aria-label=${msg`Inside the model`}>
  <h2>${msg`Inside the model, newest row`} <${Badge} origin="computed" /></h2>
  ${children}
</section>`;

function Maps({ maps, largest, a, b, place, onPlace }) {
  const kind = CELL[useNarrow() ? "narrow" : "wide"];
  const row = Math.max(kind.least, Math.min(kind.most, Math.floor(ROOM_PX / a.run.layers)));
  const size = { row, cell: kind.cell };
  const kvHead = kvHeadOf(a.run, place.head);
  const selected = (name) => ({ layer: place.layer, at: { attention: place.head, residual: 0 }[name] ?? kvHead });
  const onSelect =
    (name) =>
    ({ layer, at }) => {
      const group = a.run.heads / a.run.kvHeads;
      const head = { attention: at, residual: place.head }[name] ?? (at === kvHead ? place.head : at * group);
      onPlace({ layer, head });
    };
  return html`${largest && html`<p><${Largest} first=${firstLayerOf(maps[0].map)} largest=${largest} place=${place} onPlace=${onPlace} /></p>`}
    <div class="compare-maps row">
      ${maps.map(({ name, map }) => {
        const most = Math.max(STRONGEST[name], Math.abs(largestOf(map).value));
        return html`<${DifferenceMap} key=${name} title=${TITLES[name]} map=${map} signed=${name !== "attention"} most=${most}
          selected=${selected(name)} onSelect=${onSelect(name)} says=${cellInWords(name, map, selected(name), a, b)} size=${size} labels=${name === maps[0].name} />`;
      })}
    </div>
    <p class="muted small">${msg`Layer 0 is at the bottom. Attention: the stronger the colour, the larger the part of it that is elsewhere in B. Row, K and V: lengths of the newest row; rose is shorter in B, olive is longer.`}</p>
    <ul class="compare-cells small">
      ${maps.map(({ name, map }) => html`<li key=${name}>${cellInWords(name, map, selected(name), a, b)}</li>`)}
    </ul>`;
}

function Largest({ first, largest, place, onPlace }) {
  const { layer, at: head, value } = largest;
  if (value < ROUNDING) return msg`No head differs by more than a log rounds: 0.004 per weight.`;
  const share = percent(value, 0);
  return html`${first > 0 && msg`Attention is the same below layer ${first}, as far as a log shows it: 0.004 per weight.`} ${msg`Most of it moved in layer ${layer}, head ${head}: ${share}.`}${" "}
    ${(layer !== place.layer || head !== place.head) && html`<button class="link-button" type="button" onClick=${() => onPlace({ layer, head })}>${msg`Show this head`}</button>`}`;
}

function cellInWords(name, map, { layer, at }, a, b) {
  const value = map.values[layer * map.width + at];
  if (value === null) return msg`${TITLES[name]}: a log lacks this value.`;
  if (name === "attention")
    return msg`Layer ${layer}, head ${at}: ${percent(value, 0)} of the attention is elsewhere in B.`;
  const lengths = lengthsOf(name, a, b, layer, at);
  const [before, after] = [significant(lengths.a), significant(lengths.b)];
  if (name === "residual") return msg`Row after layer ${layer}: length ${before} in A, ${after} in B.`;
  return msg`${TITLES[name]}, KV head ${at} of layer ${layer}: length ${before} in A, ${after} in B.`;
}

function Rows({ a, b, columns, place }) {
  const theme = useTheme();
  const rows = attentionRows(columns, a, b, place.layer, place.head);
  if (!rows.length) return null;
  const byColumn = new Map(rows.map((row) => [row.column, row]));
  const shown = rows.map(({ column }) => columns[column]);
  const shade = (at, side) => {
    const weight = byColumn.get(rows[at].column)[side];
    if (weight === null) return null;
    const strength = Math.round(FULL * Math.sqrt(weight));
    const { css, ink } = theme.attentionNow;
    return { style: `background:${css[strength]};color:${ink[strength]}`, title: percent(weight) };
  };
  const newest = ({ run, step }) => run.lastQueryOfStep(step);
  return html`<div class="stack tight">
    <h3>${msg`Both rows of head ${place.head}, layer ${place.layer}`}</h3>
    <p class="small"><b>A</b> ${headSentence(a.run, place.layer, place.head, newest(a))}</p>
    <p class="small"><b>B</b> ${headSentence(b.run, place.layer, place.head, newest(b))}</p>
    <${TokenColumns} columns=${shown} a=${a.run} b=${b.run} current=${null} label=${msg`Attention of both runs, token by token: A above B`} shade=${shade} />
  </div>`;
}
