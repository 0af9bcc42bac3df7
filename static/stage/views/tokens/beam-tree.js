/** The tree of a beam search: followed candidates solid, cut ones hatched, the likeliest path green, growing to the right. */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { counted, fixed } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { beamTree } from "./beams.js";

const WIDE = 138;
const CHIP = 116;
const HIGH = 24;
const CONTEXT = 110;

/** @param {{search: Object, best: Set<number>, context: Object}} props `context`: the token the search goes on from */
export function BeamTree({ search, best, context }) {
  const box = useRef(null);
  const { length } = search.depths;
  const tree = useMemo(() => beamTree(search, best), [search, length]);
  const seen = useRef(length);
  // Followed while it grows; one that is there already is read from its beginning.
  useLayoutEffect(() => {
    if (length > seen.current) box.current.scrollLeft = box.current.scrollWidth;
    seen.current = length;
  }, [length]);
  const label = `Tree of the search: ${counted(tree.columns, "token")} deep, ${counted(tree.cells.length, "candidate")}; the table below lists its continuations`;
  return html`<div class="beam-box across" ref=${box} tabindex="0" role="group" aria-label=${label}>
    <div class="beam-tree anchor" style=${`width:${CONTEXT + tree.columns * WIDE}px;height:${tree.rows * HIGH}px`}>
      <svg width=${CONTEXT + tree.columns * WIDE} height=${tree.rows * HIGH} aria-hidden="true">
        ${tree.cells.map((cell) => html`<path key=${cell.node.id} class=${kindOf(cell)} d=${lineTo(cell)} />`)}
      </svg>
      <span class="beam-context line tight small nowrap between"><${Token} token=${context} limit=${12} /></span>
      ${tree.cells.map((cell) => html`<${Cell} key=${cell.node.id} cell=${cell} />`)}
    </div>
  </div>`;
}

function lineTo({ column, row, parentRow }) {
  const to = CONTEXT + column * WIDE + (WIDE - CHIP);
  const from = column === 0 ? CONTEXT - 14 : to - (WIDE - CHIP);
  const [y0, y1] = [(parentRow ?? 0) * HIGH + HIGH / 2, row * HIGH + HIGH / 2];
  const middle = (from + to) / 2;
  return `M${from} ${y0}C${middle} ${y0} ${middle} ${y1} ${to} ${y1}`;
}

function kindOf({ node, onBest }) {
  return `${node.kept ? "is-kept" : "is-cut"}${onBest ? " is-best" : ""}`;
}

function Cell({ cell }) {
  const { node, column, row } = cell;
  const fate = node.kept ? (node.ended ? "kept; it ends the text" : "kept") : "cut";
  const title = `ln p ${fixed(node.logprob, 2)}, sum ${fixed(node.total, 2)}: ${fate}`;
  const at = `left:${CONTEXT + column * WIDE + (WIDE - CHIP)}px;top:${row * HIGH + 2}px;width:${CHIP}px`;
  return html`<span class=${`beam-cell line tight small nowrap between ${kindOf(cell)}${node.ended ? " is-ended" : ""}`} style=${at} title=${title}>
    <${Token} token=${node.token} limit=${16} /><small>${node.ended ? "end " : ""}${fixed(node.total, 1)}</small>
  </span>`;
}
