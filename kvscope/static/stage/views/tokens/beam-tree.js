/** The tree of a beam search, growing to the right: candidates in the beam solid, cut ones hatched, the likeliest path green. */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { fixed, integer } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { beamTree } from "./beams.js";

const WIDE = 138;
const CHIP = 116;
const HIGH = 24;
const CONTEXT = 110;

/** @param {{search: Object, best: Set<number>, context: Object}} props `context`: the token before the first candidates */
export function BeamTree({ search, best, context }) {
  const box = useRef(null);
  const { length } = search.depths;
  const tree = useMemo(() => beamTree(search, best), [search, length]);
  const drawn = useRef(length);
  // A growing tree scrolls to its newest column; a finished one starts at its beginning.
  useLayoutEffect(() => {
    if (length > drawn.current) box.current.scrollLeft = box.current.scrollWidth;
    drawn.current = length;
  }, [length]);
  const { columns, cells } = tree;
  const label = [
    plural(columns, form`Search tree, ${columns} token deep.`, form`Search tree, ${columns} tokens deep.`),
    plural(cells.length, form`${integer(cells.length)} candidate.`, form`${integer(cells.length)} candidates.`),
    msg`The table below lists the continuations.`,
  ].join(" ");
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
  return `${node.kept ? "" : "is-cut"}${onBest ? " is-best" : ""}`;
}

function Cell({ cell }) {
  const { node, column, row } = cell;
  const [p, sum] = [fixed(node.logprob, 2), fixed(node.total, 2)];
  const title = node.kept
    ? node.ended
      ? msg`ln p ${p}, sum ${sum}: in the beam, ends the text`
      : msg`ln p ${p}, sum ${sum}: in the beam`
    : msg`ln p ${p}, sum ${sum}: cut`;
  const at = `left:${CONTEXT + column * WIDE + (WIDE - CHIP)}px;top:${row * HIGH + 2}px;width:${CHIP}px`;
  return html`<span class=${`beam-cell line tight small nowrap between ${kindOf(cell)}${node.ended ? " is-ended" : ""}`} style=${at} title=${title}>
    <${Token} token=${node.token} limit=${16} /><small>${node.ended ? msg`end ${fixed(node.total, 1)}` : fixed(node.total, 1)}</small>
  </span>`;
}
