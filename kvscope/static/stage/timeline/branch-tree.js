/** The tree of branches and changed runs beside the timeline, and what the shown branch shares with others. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { branchStep, continues, sharedBlocks } from "../../shared/facts/branching.js";
import { changeInWords, changesInWords } from "../../shared/facts/changes.js";
import { ending } from "../../shared/facts/endings.js";
import { integer, listed, milliseconds, quoted } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Token } from "../../shared/ui/token.js";
import { tokenCount } from "../../shared/words/counts.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { compareLink } from "../facts/compare-link.js";
import { branchRows, divergingPosition } from "./branch-rows.js";

/** @param {{state: Object, family: Object|null, controller: Object}} props `family`: of `useFamily` */
export function BranchTree({ state, family, controller }) {
  const { run, step, branching } = state;
  const rows = useMemo(() => (family ? branchRows(family, run.promptLength) : []), [family, run]);
  return html`<section class="branches whole" aria-label=${msg`Branches`}>
    <p class="branches-words" role="status">${branching ? starting(branching) : html`<${Explanation} run=${run} rows=${rows} />`}</p>
    ${rows.length > 0 && html`<${Tree} rows=${rows} run=${run} step=${step} controller=${controller} />`}
  </section>`;
}

function starting(token) {
  const name = quoted(token);
  return msg`Starting a branch with ${name}. What is still in the KV cache is not computed again.`;
}

function Explanation({ run, rows }) {
  const { parent } = run.open;
  if (!parent) return relativesInWords(rows);
  const token = run.steps[branchStep(run)]?.data.token;
  if (!token) return msg`This run is a branch.`;
  const shared = sharedBlocks(run);
  const name = quoted(token);
  const label = html`<b>${msg`Branch:`}</b>`;
  const beside = html`<a href=${compareLink(parent.run, run.id)}>${msg`Compare with its parent`}</a>`;
  if (continues(run)) return html`<${Continued} run=${run} /> ${beside}`;
  return html`${nodes`${label} ${name} replaces the model’s choice at position ${parent.position}.`}${" "}
    ${shared ? html`${sharingInWords(shared, parent.recomputed)} <${Badge} origin="measured" />` : msg`Its first step is being computed.`} ${beside}`;
}

function relativesInWords(rows) {
  const changed = rows.filter(({ changes }) => changes !== null).length;
  const branches = rows.filter(({ token }) => token !== null).length;
  return [
    branches > 0 &&
      plural(branches, form`There is ${integer(branches)} branch.`, form`There are ${integer(branches)} branches.`),
    changed > 0 &&
      plural(
        changed,
        form`There is ${integer(changed)} changed run.`,
        form`There are ${integer(changed)} changed runs.`,
      ),
    msg`Select a row to open it.`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** Says what was computed again to continue after the engine ended. */
function Continued({ run }) {
  const { rows, ms } = run.open.parent.recomputed;
  const label = html`<b>${msg`Continued:`}</b>`;
  return html`${nodes`${label} the run before it was interrupted. Its tokens are in the log, its K and V are not. Before the next token, ${integer(rows)} rows were computed again in ${milliseconds(ms)}; with the cache it would have been none.`} <${Badge} origin="measured" />`;
}

/** @param {Object} shared from `sharedBlocks` @param {{rows: number, ms: number}} recomputed */
function sharingInWords({ shared, elsewhere, blocks, positions, whole, blockSize }, recomputed) {
  const tokens = integer(positions);
  if (recomputed.rows) {
    const [rows, time] = [integer(recomputed.rows), milliseconds(recomputed.ms)];
    return plural(
      recomputed.rows,
      form`The cache did not hold K and V of all earlier tokens. Before the first step of this branch, ${rows} row was computed again in ${time}.`,
      form`The cache did not hold K and V of all earlier tokens. Before the first step of this branch, ${rows} rows were computed again in ${time}.`,
    );
  }
  if (shared) {
    const held = integer(shared * blockSize);
    const rest = positions - shared * blockSize;
    return [
      plural(
        blocks,
        form`It shares ${shared} of its ${blocks} cache block (${held} tokens) with its parent: the same memory.`,
        form`It shares ${shared} of its ${blocks} cache blocks (${held} tokens) with its parent: the same memory.`,
      ),
      rest > 0 &&
        plural(
          rest,
          form`K and V of the other ${rest} token were copied into a new block, because the branch writes there.`,
          form`K and V of the other ${rest} tokens were copied into a new block, because the branch writes there.`,
        ),
      msg`No earlier token was computed again.`,
    ]
      .filter(Boolean)
      .join(" ");
  }
  if (elsewhere)
    return plural(
      blocks,
      form`It shares ${elsewhere} of its ${blocks} cache block with another branch: the same memory, not a copy.`,
      form`It shares ${elsewhere} of its ${blocks} cache blocks with another branch: the same memory, not a copy.`,
    );
  if (whole)
    return recomputed
      ? msg`The cache still held K and V of the ${tokens} earlier tokens, so they were not computed again.`
      : msg`The cache no longer held the ${tokens} earlier tokens, so they were computed again.`;
  return plural(
    positions,
    form`The ${tokens} earlier token does not fill a block of ${blockSize}. Its K and V were copied, not computed again.`,
    form`The ${tokens} earlier tokens do not fill a block of ${blockSize}. Their K and V were copied, not computed again.`,
  );
}

function Tree({ rows, run, step, controller }) {
  const end = Math.max(...rows.map(({ to }) => to), 1);
  return html`<ol class="tree scrolls anchor">
    ${rows.map((row) => html`<${Row} key=${row.id} row=${row} rows=${rows} run=${run} step=${step} end=${end} controller=${controller} />`)}
  </ol>`;
}

function Row({ row, rows, run, step, end, controller }) {
  const current = row.id === run.id;
  const visit = () => {
    if (current) return;
    const position = divergingPosition(rows, run.id, row.id);
    controller.visitRelative(row.id, position === null ? step : Math.max(0, position - run.promptLength));
  };
  const at = (position) => `${((position / end) * 100).toFixed(2)}%`;
  const prompt = row.from === 0 ? run.promptLength : 0;
  const style = [
    `--from:${at(row.from)}`,
    `--long:${at(row.to - row.from)}`,
    `--prompt:${((prompt / Math.max(1, row.to - row.from)) * 100).toFixed(2)}%`,
    `--up:${row.parentRow === null ? 0 : row.row - row.parentRow}`,
  ].join(";");
  return html`<li>
    <button type="button" aria-current=${current ? "true" : undefined} onClick=${visit} title=${titleOf(row, current, run.tokens)}>
      <span class="tree-name cut small" style=${`--depth:${row.depth}`}>
        ${row.token ? html`<${Token} token=${row.token} limit=${14} />` : row.changes ? changesInWords(row.changes, run.tokens) : msg`first run`}
      </span>
      <span class="tree-line anchor" style=${style}>
        ${row.parentRow !== null && html`<i class="tree-elbow"></i>`}<i class="tree-bar"></i>
      </span>
      <span class="visually-hidden">${titleOf(row, current, run.tokens)}</span>
    </button>
  </li>`;
}

const STATUSES = { running: msg`running`, paused: msg`paused`, queued: msg`queued` };

/** @returns {string} the tooltip of a row */
function titleOf({ token, changes, position, from, to, status, reason }, current, all) {
  const name = token && quoted(token);
  const tokens = integer(to - from);
  return [
    token
      ? msg`${name} given at position ${position}`
      : changes
        ? msg`changed: ${listed(changes.map((change) => changeInWords(change, all)))}`
        : msg`the first run`,
    token
      ? plural(to - from, form`${tokens} token after its parent`, form`${tokens} tokens after its parent`)
      : tokenCount(to - from),
    status === "closed" ? ending({ reason }) : (STATUSES[status] ?? status),
    current && msg`shown now`,
  ]
    .filter(Boolean)
    .join(", ");
}
