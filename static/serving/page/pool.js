/** Memory: a cell for each block, whose it is and how full; the waste; the block table of the request that is looked at. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bytesShort, counted, integer, percent } from "../../shared/facts/format.js";
import { Memo } from "../../shared/ui/memo.js";
import { useSize } from "../../shared/ui/use-size.js";
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

/** Hues of this many owners stand side by side in a block that they share. */
const STRIPES = 4;
/** Below this there is room for the number of owners alone. */
const TIMES_PX = 22;
/** Of other people's blocks so many are drawn; all are counted. */
const MOST_OTHERS = 40;
/** Where a letter stands in its block, from below. */
const [LETTER_FROM, LETTER_TO] = [0.3, 0.7];

/** @param {Object} props as `Watched` gives them to all its parts */
export function Pool({ log, round, pass, tally, look }) {
  const blockSize = log.open.block_size;
  const [ref, size] = useSize();
  const cells = useMemo(() => blocksOf(pass, blockSize), [pass]);
  const { touched, longest: most } = tally;
  const drawn = useMemo(() => drawnBlocks(round, pass, touched), [round, touched.size, pass]);
  const table = look.looked === null ? [] : stateOf(pass, look.looked).table;
  const width = size?.width ?? 0;
  return html`<section class="pool stack" aria-label="Memory">
    <h2>Memory: the block pool <small>${counted(round.settings.blocks, "block")} · ${bytesShort(round.settings.blocks * blockSize * rowBytes(log.open.model))}</small></h2>
    <${Waste} round=${round} pass=${pass} rowBytes=${rowBytes(log.open.model)} requests=${log.study.requests} blockSize=${blockSize} />
    <${TableSays} look=${look} pass=${pass} />
    <div class="pool-drawing" ref=${ref} style=${`min-height:${width ? tableOf(most, width).height + cellsOf(drawn.length, width).height : 200}px`}>
      ${width > 0 && html`<${Drawing} width=${width} drawn=${drawn} cells=${cells} table=${table} most=${most} look=${look} blockSize=${blockSize} />`}
    </div>
    <${Legend} drawn=${drawn.length} pass=${pass} most=${round.settings.blocks} />
    <${Shared} cells=${cells} round=${round} tally=${tally} pass=${pass} blockSize=${blockSize} />
  </section>`;
}

/** Of K and V of one token. */
function rowBytes({ layers, kv_heads, head_dim, element_bytes }) {
  return 2 * layers * kv_heads * head_dim * element_bytes;
}

/** Of the whole round, where nobody is being answered any more. */
function WasteOver({ round, rowBytes, blockSize }) {
  const over = useMemo(() => wasteOver(round, blockSize), [round, round.passes.length]);
  if (!over) return html`<p class="waste"><b>–</b> <span>nobody is being answered after this pass</span></p>`;
  const { share, unfilled, worst } = over;
  const bytes = (rows) => bytesShort(rows * rowBytes);
  return html`<p class="waste">Nobody is being answered after this pass. Over the round’s passes, waste was <b>${percent(share, 0)}</b> on average (${bytes(unfilled)}), at worst <b>${percent(worst.share, 0)}</b> (${bytes(worst.room - worst.filled)}).</p>`;
}

function Waste({ round, pass, rowBytes, requests, blockSize }) {
  const waste = wasteOf(pass, blockSize);
  const reserved = round.settings.reserve ? null : reservedWaste(pass, requests, blockSize);
  const whole = useMemo(() => round.end && wasteOver(round, blockSize), [round, round.end]);
  if (!waste) return html`<${WasteOver} round=${round} rowBytes=${rowBytes} blockSize=${blockSize} />`;
  return html`<details class="waste">
    <summary>
      <b class="waste-number">waste ${percent(waste.share, 0)}</b>
      <span>after this pass, of the room in ${counted(waste.held, "block")}${whole && html`; over the whole round <b>${percent(whole.share, 0)}</b> on average`}</span>
      <span class="whole">${reserved ? html`Were room kept for the same people’s longest answers from the start: <b class="is-bad">${percent(reserved.share, 0)}</b> of ${counted(reserved.held, "block")} (computed)` : "In this round room is kept for everybody’s longest answer from the start."}</span>
      <span class="waste-bar anchor whole" aria-hidden="true">${reserved && html`<i class="is-reserved" style=${{ width: `${100 * reserved.share}%` }}></i>`}<i style=${{ width: `${100 * waste.share}%` }}></i></span>
    </summary>
    <p>A block has room for ${blockSize} tokens, and ${reserved ? "the newest block of each person is seldom full" : "most of what is kept for an answer is empty until the answer gets there"}: that is the waste.</p>
    <p>Of those being answered now: 1 − ${integer(waste.filled)} rows filled ÷ (${counted(waste.held, "block")} × ${blockSize}) = ${percent(waste.share)}. A block that several share counts once.</p>
    ${whole && html`<p>Over the round: the same after each pass, each counted for as long as it took.</p>`}
    ${
      reserved &&
      html`<p>Kept from the start, by formula: each of them would hold ⌈(prompt + most new tokens − 1) ÷ ${blockSize}⌉ blocks of its own, ${integer(reserved.held)} in all:
      1 − ${integer(reserved.filled)} ÷ (${integer(reserved.held)} × ${blockSize}) = ${percent(reserved.share)}.</p>`
    }
  </details>`;
}

function TableSays({ look, pass }) {
  if (look.looked === null) return html`<p class="table-says muted">Point at a person to see their block table.</p>`;
  const { positions, table } = stateOf(pass, look.looked);
  const letter = letterOf(look.looked);
  if (!table.length)
    return html`<p class="table-says"><b class=${`owner-ink ${ownerClass(look.looked)}`}>${letter}</b> holds no blocks now.</p>`;
  return html`<p class="table-says"><b><${Term} id="block-table">Block table<//> of <span class=${`owner-ink ${ownerClass(look.looked)}`}>${letter}</span>:</b> ${counted(positions, "token")} in ${counted(table.length, "block")}, anywhere</p>`;
}

function Drawing({ width, drawn, cells, table, most, look, blockSize }) {
  const chips = tableOf(most, width);
  const grid = cellsOf(drawn.length, width);
  const places = new Map(drawn.map((id, at) => [id, grid.at(at)]));
  const hue = look.looked === null ? "" : ownerClass(look.looked);
  const height = chips.height + grid.height;
  return html`<svg width=${width} height=${height} role="img" aria-label=${inWords(cells, drawn.length)}>
    <defs>
      <pattern id="kept" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="kept-line" x1="0" x2="0" y2="5" /></pattern>
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
      ${drawn.map((id, at) => html`<${Memo} key=${id} of=${Block} id=${id} ...${grid.at(at)} size=${grid.size} numbered=${grid.numbered} ...${cellProps(cells.get(id))} ringed=${table.includes(id) ? hue : ""} hover=${look.hover} blockSize=${blockSize} />`)}
    </g>
  </svg>`;
}

function inWords(cells, drawn) {
  const all = [...cells.values()];
  const [used, kept] = [
    all.filter(({ owners }) => owners.length),
    all.filter(({ owners, keptOf }) => !owners.length && keptOf.length),
  ];
  const shared = used.filter(({ owners }) => owners.length > 1);
  return `${drawn} blocks: ${used.length} in use, ${shared.length} of them shared, ${kept.length} kept of those who have ended`;
}

/** Of a cell, for a block that is drawn again only when it has changed: lists as text. */
function cellProps(cell) {
  if (!cell) return { held: false };
  const { owners, keptOf, ...rest } = cell;
  return { held: true, ...rest, owners: owners.join(), keptOf: keptOf.join() };
}

const numbersOf = (text) => (text ? text.split(",").map(Number) : []);

function Block({ id, x, y, size, numbered, ringed, hover, blockSize, held, others, filled, written, ...lists }) {
  const cell = held
    ? { others, filled, written, owners: numbersOf(lists.owners), keptOf: numbersOf(lists.keptOf) }
    : null;
  const owner = cell?.owners[0] ?? cell?.keptOf[0] ?? null;
  const pointed = owner === null ? {} : { onPointerEnter: () => hover(owner), onPointerLeave: () => hover(null) };
  return html`<g transform=${`translate(${x},${y})`} class=${`block ${owner === null ? "" : ownerClass(owner)}`} ...${pointed}>
    <title>${titleOf(id, cell, blockSize)}</title>
    <rect class=${cell?.others ? "block-others" : "block-free"} width=${size} height=${size} rx="4" />
    ${cell && owner !== null && html`<${Filled} cell=${cell} size=${size} blockSize=${blockSize} />`}
    ${ringed && html`<rect class=${`block-ring ${ringed}`} x="-1" y="-1" width=${size + 2} height=${size + 2} rx="5" />`}
    ${numbered && html`<text class="block-number" x=${size / 2} y=${size + NUMBER_PX - 1}>${id}</text>`}
  </g>`;
}

/** From below: what was there, and on top of it, amber, what this pass wrote. */
function Filled({ cell, size, blockSize }) {
  const { owners, keptOf, filled, written } = cell;
  const middle = { x: size / 2, y: size / 2, dy: "0.36em" };
  if (!owners.length) {
    return html`<rect class="block-kept" width=${size} height=${size} rx="4" /><rect fill="url(#kept)" width=${size} height=${size} rx="4" />
      <text class="block-letter is-kept" ...${middle}>${letterOf(keptOf[0])}</text>`;
  }
  const level = (rows) => (size * rows) / blockSize;
  const [full, fresh] = [level(filled), level(written)];
  const inside = html`<rect class="block-room" width=${size} height=${size} rx="4" />
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

/** What a letter in the middle stands on; where the middle is an edge, it gets one of its own. */
function ground(full, before, size) {
  const [low, high] = [size * LETTER_FROM, size * LETTER_TO];
  if (before >= high) return "is-on-hue";
  if (full >= high && before <= low) return "is-on-written";
  return full <= low ? "" : "is-edged";
}

function titleOf(id, cell, blockSize) {
  if (!cell) return `Block ${id}: free`;
  if (cell.others) return `Block ${id}: of other people`;
  const whose = cell.owners.length ? cell.owners : cell.keptOf;
  const state = cell.owners.length ? "" : ", kept after the end";
  return `Block ${id}: ${whose.map(letterOf).join(", ")}, ${cell.filled} of ${blockSize} rows filled${cell.written ? `, ${cell.written} in this pass` : ""}${state}`;
}

/** @param {{drawn: number, pass: Object, most: number}} props `most`: blocks that the requests may hold at once, all together */
function Legend({ drawn, pass, most }) {
  const { blocks, others } = pass.pool;
  const free = Math.max(0, blocks - drawn - others.length);
  return html`<ul class="row">
      <li class="key line muted small is-used">in use, as full as it is</li><li class="key line muted small is-written">written in this pass</li>
      <li class="key line muted small is-kept">ended, kept</li><li class="key line muted small is-free">free</li>
    </ul>
    ${
      others.length > 0 &&
      html`<p class="pool-others muted"><span aria-hidden="true">${others.slice(0, MOST_OTHERS).map((id) => html`<i key=${id}></i>`)}</span> ${counted(others.length, "block")} of other people’s runs</p>`
    }
    <p class="muted">Drawn: ${drawnWords(drawn, most)}. The engine has ${integer(blocks)}; ${counted(free, "more is", "more are")} free.</p>`;
}

/** Why so many: it is not all that the engine has. */
function drawnWords(drawn, most) {
  if (drawn > most) return `all ${integer(drawn)} blocks that these people have held`;
  const held = `${counted(most, "block")} that these people may hold at once`;
  return drawn < most ? `${integer(drawn)} of the ${held}` : `the ${held}`;
}

/** What several hold together, and what was copied last because somebody wrote to it. */
function Shared({ cells, round, tally, pass, blockSize }) {
  const shared = sharedBlocks(cells);
  const copy = lastCopy(round, tally.events, pass.number, blockSize);
  const alone = shared ? null : whyNoBlockShared(round, pass, tally.answers, blockSize);
  const one = shared?.ids.length === 1;
  const tokens = (shared?.ids.length ?? 0) * blockSize;
  const owners = shared ? cells.get(shared.ids[0]).owners : [];
  const found = Math.min(...owners.map((who) => tally.answers[who].shared).filter(Boolean));
  const more = found > tokens && found < tokens + blockSize ? found - tokens : 0;
  return html`
    ${shared && html`<p>${one ? "Block" : "Blocks"} ${rangesOf(shared.ids)} ${one ? "holds" : "hold"} the same beginning once, for ${counted(shared.people, "person", "people")}: ${counted(tokens, "token")}.${more > 0 && ` ${counted(more, "more shared token")} began the next block: who writes to it gets a copy.`}</p>`}
    ${!shared && alone && html`<p class="muted">No block is held by two: ${alone}</p>`}
    ${copy && html`<p>Block ${copy.from} was not ${letterOf(copy.request)}’s alone: before ${letterOf(copy.request)} wrote to it, it was copied to block ${copy.to} (<${Term} id="copy-on-write">copy-on-write<//>).</p>`}
  `;
}
