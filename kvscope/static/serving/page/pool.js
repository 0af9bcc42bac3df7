/** Memory: a cell for each block, with its request and how full it is; the waste; the block table of the selected request. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bytesShort, integer, percent } from "../../shared/facts/format.js";
import { Memo } from "../../shared/ui/memo.js";
import { useSize } from "../../shared/ui/use-size.js";
import { blockCount, requestCount, tokenCount } from "../../shared/words/counts.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import {
  blocksOf,
  drawnBlocks,
  lastCopy,
  rangesOf,
  reservedWaste,
  sharedBlocks,
  wasteOf,
  wasteOver,
} from "../blocks.js";
import { whyNoBlockShared } from "../joining.js";
import { letterOf, ownerClass } from "../owners.js";
import { cellsOf, NUMBER_PX, tableOf } from "../pool-geometry.js";
import { stateOf } from "../sentences.js";

/** A shared block shows the hues of at most so many owners. */
const STRIPES = 4;
/** A smaller block has space only for the number of its owners, without “×”. */
const TIMES_PX = 22;
/** At most so many blocks of other runs are drawn; all are counted. */
const MOST_OTHERS = 40;
/** Lower and upper end of a letter in its block, as shares of the block's height. */
const [LETTER_FROM, LETTER_TO] = [0.3, 0.7];

/** @param {Object} props as `Watched` gives them to all its parts */
export function Pool({ log, round, pass, tally, look }) {
  const blockSize = log.open.block_size;
  const [ref, size] = useSize();
  const cells = useMemo(() => blocksOf(pass, blockSize), [pass]);
  const { touched, longest: most } = tally;
  const drawn = useMemo(() => drawnBlocks(round, pass, touched), [round, touched.size, pass]);
  const table = look.selected === null ? [] : stateOf(pass, look.selected).table;
  const width = size?.width ?? 0;
  const { blocks } = round.settings;
  const bytesOfRow = rowBytes(log.open.model);
  const reserves = isReserving(round.settings);
  return html`<section class="pool stack" aria-label=${msg`Memory`} data-names="pool">
    <h2>${msg`Memory: the block pool`} <small>${blockCount(blocks)} · ${bytesShort(blocks * blockSize * bytesOfRow)}</small></h2>
    <${Waste} round=${round} pass=${pass} rowBytes=${bytesOfRow} requests=${log.study.requests} blockSize=${blockSize} />
    <${TableText} look=${look} pass=${pass} />
    <div class="pool-drawing" ref=${ref} style=${`min-height:${width ? tableOf(most, width).height + cellsOf(drawn.length, width).height : 200}px`}>
      ${width > 0 && html`<${Drawing} width=${width} drawn=${drawn} cells=${cells} table=${table} most=${most} look=${look} blockSize=${blockSize} reserves=${reserves} />`}
    </div>
    <${Free} pass=${pass} />
    <${Legend} drawn=${drawn.length} pass=${pass} most=${round.settings.blocks} reserves=${reserves} hits=${[...cells.values()].some(({ hit }) => hit)} />
    <${Shared} cells=${cells} round=${round} tally=${tally} pass=${pass} blockSize=${blockSize} />
  </section>`;
}

/** @returns {boolean} whether requests hold blocks before they need them */
function isReserving({ reserve, contiguous }) {
  return reserve || Boolean(contiguous);
}

/** Says how much memory of a contiguous round no request has reserved. */
function Free({ pass }) {
  const { region, slots } = pass.pool;
  if (!region || !slots) return null;
  const free = tokenCount(slots.free);
  const fragmentation = html`<${Term} id="external-fragmentation">${msg`external fragmentation`}<//>`;
  if (slots.longest === slots.free) return html`<p>${msg`Free: space for ${free}, in one piece.`}</p>`;
  return html`<p>${nodes`Free: space for ${free}, but for at most ${integer(slots.longest)} in a row (${fragmentation}).`}</p>`;
}

/** Returns the bytes of K and V of one token. */
function rowBytes({ layers, kv_heads, head_dim, element_bytes }) {
  return 2 * layers * kv_heads * head_dim * element_bytes;
}

/** Shows the waste of the whole round when no request is running. */
function WasteOver({ round, rowBytes, blockSize }) {
  const over = useMemo(() => wasteOver(round, blockSize), [round, round.passes.length]);
  if (!over) return html`<p class="waste"><b>–</b> <span>${msg`no request is running after this pass`}</span></p>`;
  const { unfilled, worst } = over;
  const bytes = (rows) => bytesShort(rows * rowBytes);
  const mean = html`<b>${percent(over.share, 0)}</b>`;
  const most = html`<b>${percent(worst.share, 0)}</b>`;
  return html`<p class="waste">${msg`No request is running after this pass.`} ${nodes`Over the round, waste was ${mean} on average (${bytes(unfilled)}) and ${most} at worst (${bytes(worst.room - worst.filled)}).`}</p>`;
}

function Waste({ round, pass, rowBytes, requests, blockSize }) {
  const waste = wasteOf(pass, blockSize);
  const reserved = isReserving(round.settings) ? null : reservedWaste(pass, requests, blockSize);
  const whole = useMemo(() => round.end && wasteOver(round, blockSize), [round, round.end]);
  if (!waste) return html`<${WasteOver} round=${round} rowBytes=${rowBytes} blockSize=${blockSize} />`;
  const share = percent(waste.share);
  const blocks = blockCount(waste.held);
  const roundShare = whole && html`<b>${percent(whole.share, 0)}</b>`;
  return html`<details class="waste">
    <summary>
      <b class="waste-number">${msg`${percent(waste.share, 0)} empty`}</b>
      <span>${msg`in ${blocks}, after this pass`}${whole && html`; ${nodes`${roundShare} on average over all passes of this round`}`}</span>
      <span class="whole">${reserved ? reservedText(reserved) : howReserved(round.settings)}</span>
      <span class="waste-bar anchor whole" aria-hidden="true">${reserved && html`<i class="is-reserved" style=${{ width: `${100 * reserved.share}%` }}></i>`}<i style=${{ width: `${100 * waste.share}%` }}></i></span>
    </summary>
    <p>${reserved ? msg`Empty space holds no token. A block has space for ${blockSize} tokens, and the newest block of a request is seldom full.` : msg`Empty space holds no token. A block has space for ${blockSize} tokens, and most of the reserved space is empty until the answer needs it.`} ${!reserved && html`<${Term} id="internal-waste">${msg`Internal fragmentation`}<//>`}</p>
    <p>${msg`Running requests: 1 − ${integer(waste.filled)} filled rows ÷ (${blocks} × ${blockSize}) = ${share}. A shared block counts once.`}</p>
    ${whole && html`<p>${msg`Over the round: the mean of this value after each pass, weighted by the time of the pass.`}</p>`}
    ${
      reserved &&
      html`<p>${msg`With reserved space, by formula: each request would hold ⌈(prompt + most new tokens − 1) ÷ ${blockSize}⌉ blocks.`} ${msg`For all of them: 1 − ${integer(reserved.filled)} ÷ (${integer(reserved.held)} × ${blockSize}) = ${percent(reserved.share)}.`}</p>`
    }
  </details>`;
}

function howReserved({ contiguous }) {
  if (!contiguous) return msg`This round reserves space for the longest answer of each request.`;
  const tokens = tokenCount(contiguous.new_tokens);
  return msg`In this round each request reserves one unbroken stretch, with space for an answer of at least ${tokens}.`;
}

function reservedText({ share, held }) {
  const waste = html`<b class="is-bad">${percent(share, 0)}</b>`;
  return nodes`If each request reserved space for its longest answer, ${waste} of ${blockCount(held)} would be empty (computed)`;
}

function TableText({ look, pass }) {
  if (look.selected === null)
    return html`<p class="table-text muted">${msg`Point at a request to see its block table.`}</p>`;
  const { positions, table } = stateOf(pass, look.selected);
  const letter = html`<b class=${`owner-ink ${ownerClass(look.selected)}`}>${letterOf(look.selected)}</b>`;
  if (!table.length) return html`<p class="table-text">${nodes`${letter} holds no blocks now.`}</p>`;
  const blockTable = html`<${Term} id="block-table">${msg`Block table`}<//>`;
  const blocks = blockCount(table.length);
  const where = pass.pool.region
    ? msg`its ${tokenCount(positions)} are in one stretch of ${blocks}, reserved when it joined`
    : msg`its ${tokenCount(positions)} are in ${blocks}, anywhere in the pool`;
  return html`<p class="table-text"><b>${nodes`${blockTable} of ${letter}:`}</b> ${where}</p>`;
}

function Drawing({ width, drawn, cells, table, most, look, blockSize, reserves }) {
  const chips = tableOf(most, width);
  const grid = cellsOf(drawn.length, width);
  const places = new Map(drawn.map((id, at) => [id, grid.at(at)]));
  const hue = look.selected === null ? "" : ownerClass(look.selected);
  const height = chips.height + grid.height;
  return html`<svg width=${width} height=${height} role="img" aria-label=${inWords(cells, drawn.length)}>
    <defs>
      <pattern id="cached" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="cached-line" x1="0" x2="0" y2="5" /></pattern>
      <pattern id="reserved" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><line class="reserved-line" x1="0" x2="0" y2="4" /></pattern>
    </defs>
    <g class=${hue}>
      ${table.map((id, at) => {
        const from = chips.at(at);
        const to = places.get(id);
        if (!to) return null;
        const [x1, y1, x2, y2] = [
          from.x + from.width / 2,
          from.y + from.height,
          to.x + grid.size / 2,
          chips.height + to.y,
        ];
        return html`<path key=${at} class="table-line" d=${`M${x1},${y1}C${x1},${y1 + 14} ${x2},${y2 - 14} ${x2},${y2}`} />`;
      })}
      ${table.map((id, at) => {
        const { x, y, width: wide, height: high } = chips.at(at);
        const own = cells.get(id)?.owners.length === 1;
        return html`<g key=${at} class=${own ? "table-entry is-own" : "table-entry"}>
          <rect x=${x} y=${y} width=${wide} height=${high} rx="4" /><text x=${x + wide / 2} y=${y + high / 2} dy="0.36em">${id}</text>
        </g>`;
      })}
    </g>
    <g transform=${`translate(0,${chips.height})`}>
      ${drawn.map((id, at) => html`<${Memo} key=${id} of=${Block} id=${id} ...${grid.at(at)} size=${grid.size} numbered=${grid.numbered} ...${cellProps(cells.get(id))} ringed=${table.includes(id) ? hue : ""} hover=${look.hover} blockSize=${blockSize} reserves=${reserves} />`)}
    </g>
  </svg>`;
}

function inWords(cells, drawn) {
  const all = [...cells.values()];
  const [used, cached] = [
    all.filter(({ owners }) => owners.length),
    all.filter(({ owners, cachedOf }) => !owners.length && cachedOf.length),
  ];
  const shared = used.filter(({ owners }) => owners.length > 1);
  return msg`Blocks: ${drawn}, in use: ${used.length}, shared: ${shared.length}, cached from ended requests: ${cached.length}`;
}

/** Returns the props of a cell, with lists as text: a block is drawn again only if one of them changed. */
function cellProps(cell) {
  if (!cell) return { held: false };
  const { owners, cachedOf, ...rest } = cell;
  return { held: true, ...rest, owners: owners.join(), cachedOf: cachedOf.join() };
}

const numbersOf = (text) => (text ? text.split(",").map(Number) : []);

function Block({
  id,
  x,
  y,
  size,
  numbered,
  ringed,
  hover,
  blockSize,
  reserves,
  held,
  others,
  filled,
  written,
  evictedAs,
  hit,
  ...lists
}) {
  const cell = held
    ? { others, filled, written, evictedAs, hit, owners: numbersOf(lists.owners), cachedOf: numbersOf(lists.cachedOf) }
    : null;
  const owner = cell?.owners[0] ?? cell?.cachedOf[0] ?? null;
  const pointed = owner === null ? {} : { onPointerEnter: () => hover(owner), onPointerLeave: () => hover(null) };
  return html`<g transform=${`translate(${x},${y})`} class=${`block ${owner === null ? "" : ownerClass(owner)}`} ...${pointed}>
    <title>${titleOf(id, cell, blockSize)}</title>
    <rect class=${cell?.others ? "block-others" : "block-free"} width=${size} height=${size} rx="4" />
    ${cell && owner !== null && html`<${Filled} cell=${cell} size=${size} blockSize=${blockSize} reserves=${reserves} />`}
    ${cell?.hit && html`<rect class="block-hit" x="2" y="2" width=${size - 4} height=${size - 4} rx="3" />`}
    ${ringed && html`<rect class=${`block-ring ${ringed}`} x="-1" y="-1" width=${size + 2} height=${size + 2} rx="5" />`}
    ${numbered && html`<text class="block-number" x=${size / 2} y=${size + NUMBER_PX - 1}>${id}</text>`}
  </g>`;
}

/** Fills a block from below: earlier rows first, then the rows that this pass wrote, in amber. */
function Filled({ cell, size, blockSize, reserves }) {
  const { owners, cachedOf, filled, written } = cell;
  const middle = { x: size / 2, y: size / 2, dy: "0.36em" };
  if (!owners.length) {
    return html`<rect class="block-cached" width=${size} height=${size} rx="4" /><rect fill="url(#cached)" width=${size} height=${size} rx="4" />
      <text class="block-letter is-cached" ...${middle}>${letterOf(cachedOf[0])}</text>`;
  }
  const level = (rows) => (size * rows) / blockSize;
  const [full, fresh] = [level(filled), level(written)];
  const inside = html`<rect class="block-room" width=${size} height=${size} rx="4" />
    ${reserves && full < size && html`<rect fill="url(#reserved)" width=${size} height=${size - full} rx="4" />`}
    ${
      owners.length > 1
        ? owners
            .slice(0, STRIPES)
            .map(
              (owner, at, { length }) =>
                html`<rect key=${owner} class=${`block-filled ${ownerClass(owner)}`} x=${(size * at) / length} y=${size - full} width=${size / length} height=${full} />`,
            )
        : html`<rect class="block-filled" y=${size - full} width=${size} height=${full} rx=${filled === blockSize ? 4 : 0} />`
    }
    ${written > 0 && html`<rect class="block-written" y=${size - full} width=${size} height=${fresh} rx=${filled === blockSize ? 4 : 0} />`}
    <rect class="block-edge" x="0.5" y="0.5" width=${size - 1} height=${size - 1} rx="4" />`;
  if (owners.length > 1)
    return html`${inside}<circle class="block-shared" cx=${size / 2} cy=${size / 2} r=${Math.min(11, size / 2 - 1)} /><text class="block-letter is-shared" ...${middle}>${size < TIMES_PX ? "" : "×"}${owners.length}</text>`;
  return html`${inside}<text class=${`block-letter ${ground(full, full - fresh, size)}`} ...${middle}>${letterOf(owners[0])}</text>`;
}

/** Returns the class of a letter by the colour behind it; across two colours the letter gets an edge. */
function ground(full, before, size) {
  const [low, high] = [size * LETTER_FROM, size * LETTER_TO];
  if (before >= high) return "is-on-hue";
  if (full >= high && before <= low) return "is-on-written";
  return full <= low ? "" : "is-edged";
}

function titleOf(id, cell, blockSize) {
  if (!cell) return msg`Block ${id}: free`;
  if (cell.others) return msg`Block ${id}: of another run`;
  const { owners, cachedOf, filled, written, evictedAs, hit } = cell;
  const letters = (owners.length ? owners : cachedOf).map(letterOf).join(", ");
  if (evictedAs)
    return msg`Block ${id}: filled by ${letters}; no request holds it, and it can be found. It is number ${evictedAs} to be evicted`;
  if (hit)
    return msg`Block ${id}: ${letters}; found in the cache in this pass, so its ${filled} rows were not computed`;
  if (!owners.length) return msg`Block ${id}: ${letters}, ended; ${filled} of ${blockSize} rows filled, still cached`;
  if (written) return msg`Block ${id}: ${letters}; ${filled} of ${blockSize} rows filled, ${written} in this pass`;
  return msg`Block ${id}: ${letters}; ${filled} of ${blockSize} rows filled`;
}

/**
 * @param {{drawn: number, pass: Object, most: number, reserves: boolean, hits: boolean}} props `most`: blocks that all requests may hold
 *   together; `hits`: whether a drawn block was found in the cache
 */
function Legend({ drawn, pass, most, reserves, hits }) {
  const { blocks, others } = pass.pool;
  const free = Math.max(0, blocks - drawn - others.length);
  return html`<ul class="row">
      <li class="key line muted small is-used">${msg`in use (filled part in color)`}</li><li class="key line muted small is-written">${msg`written in this pass`}</li>
      ${reserves && html`<li class="key line muted small is-reserved">${msg`reserved, holds no token`}</li>`}
      ${!pass.pool.region && html`<li class="key line muted small is-cached">${pass.pool.cached ? msg`held by no request, can be found` : msg`request done, still cached`}</li>`}${hits && html`<li class="key line muted small is-hit">${msg`found in the cache in this pass`}</li>`}<li class="key line muted small is-free">${msg`free`}</li>
    </ul>
    ${
      others.length > 0 &&
      html`<p class="pool-others muted"><span aria-hidden="true">${others.slice(0, MOST_OTHERS).map((id) => html`<i key=${id}></i>`)}</span> ${msg`${blockCount(others.length)} of other runs`}</p>`
    }
    <p class="muted">${drawnText(drawn, most)} ${msg`The engine has ${blockCount(blocks)}; another ${integer(free)} are free.`}</p>`;
}

/** Says how many of the workload's blocks the drawing shows. */
function drawnText(drawn, most) {
  const shown = integer(drawn);
  if (drawn > most) return msg`The drawing shows all ${shown} blocks that these requests have held.`;
  if (drawn < most)
    return msg`The drawing shows ${shown} of the ${blockCount(most)} that these requests may hold at once.`;
  return msg`The drawing shows the ${blockCount(most)} that these requests may hold at once.`;
}

/** Blocks that several requests hold, and the newest copy-on-write. */
function Shared({ cells, round, tally, pass, blockSize }) {
  const shared = sharedBlocks(cells);
  const copy = lastCopy(round, tally.events, pass.number, blockSize);
  const alone = shared ? null : whyNoBlockShared(round, pass, tally.answers, blockSize);
  const tokens = (shared?.ids.length ?? 0) * blockSize;
  const owners = shared ? cells.get(shared.ids[0]).owners : [];
  const fewest = Math.min(...owners.map((who) => tally.answers[who].shared).filter(Boolean));
  const more = fewest > tokens && fewest < tokens + blockSize ? fewest - tokens : 0;
  const copyOnWrite = html`<${Term} id="copy-on-write">${msg`copy-on-write`}<//>`;
  return html`
    ${shared && html`<p>${sharedText(shared, tokens)} ${more > 0 && partlySharedText(more)}</p>`}
    ${!shared && alone && html`<p class="muted">${alone}</p>`}
    ${copy && html`<p>${nodes`${letterOf(copy.request)} had to write to block ${copy.from}, which it shared, so the engine copied it to block ${copy.to} (${copyOnWrite}).`}</p>`}
  `;
}

function sharedText({ ids, requests }, tokens) {
  const blocks = rangesOf(ids);
  return plural(
    ids.length,
    form`${requestCount(requests)} share block ${blocks}: the same first ${tokenCount(tokens)}, stored once.`,
    form`${requestCount(requests)} share blocks ${blocks}: the same first ${tokenCount(tokens)}, stored once.`,
  );
}

function partlySharedText(count) {
  return plural(
    count,
    form`They also share ${count} token of the next block; a request that writes to it gets a copy.`,
    form`They also share ${count} tokens of the next block; a request that writes to it gets a copy.`,
  );
}
