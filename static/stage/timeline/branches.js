/** The tree of branches beside the timeline: a row per run, with the shared part drawn once, and what this branch shares. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { branchStep, sharedBlocks } from "../../shared/facts/branching.js";
import { ending } from "../../shared/facts/endings.js";
import { counted, quoted } from "../../shared/facts/format.js";
import { useFamily } from "../../shared/loading/use-family.js";
import { Badge } from "../../shared/ui/badge.js";
import { Token } from "../../shared/ui/token.js";
import { branchRows, partingPosition } from "./branch-rows.js";

export function Branches({ state, client, controller }) {
  const { run, branching } = state;
  const family = useFamily(client, run);
  const rows = useMemo(() => (family ? branchRows(family, run.promptLength) : []), [family, run]);
  if (!run?.open || (rows.length < 2 && !run.open.parent && !branching)) return null;
  return html`<section class="branches whole" aria-label="Branches">
    <p class="branches-words" role="status">${branching ? starting(branching) : html`<${Words} run=${run} count=${rows.length} />`}</p>
    ${rows.length > 0 && html`<${Tree} rows=${rows} run=${run} controller=${controller} />`}
  </section>`;
}

function starting(token) {
  return `Starting a branch with ${quoted(token)}: the prompt is not computed again where its cache is still held…`;
}

function Words({ run, count }) {
  const { parent } = run.open;
  if (!parent) return `${counted(count - 1, "branch", "branches")} of this run. Choose a row to see it.`;
  const token = run.steps[branchStep(run)]?.data.token;
  if (!token) return "This run is a branch.";
  const shared = sharedBlocks(run);
  return html`<b>A branch:</b> ${quoted(token)} was put at position ${parent.position} in place of the model’s choice.${" "}
    ${shared ? html`${sharingSentence(shared)} <${Badge} origin="measured" />` : "Its first step is being computed."}`;
}

/** @param {Object} shared as `sharedBlocks` gives it */
function sharingSentence({ shared, elsewhere, blocks, positions, whole, blockSize }) {
  const some = `Shares ${shared || elsewhere} of its ${counted(blocks, "cache block")}`;
  const rest = positions - shared * blockSize;
  const copied = `K and V of the other ${counted(rest, "token")} were copied into a block of its own, to write on behind them.`;
  if (shared && rest > 0)
    return `${some} (${shared * blockSize} tokens) with its parent: the same memory. ${copied} No token before it was computed again.`;
  if (shared) return `${some} with its parent: the same memory. No token before it was computed again.`;
  if (elsewhere) return `${some} with another branch: the same memory, not a copy.`;
  if (whole) return `The cache of the ${positions} tokens before it was gone, so they were computed again.`;
  return `The ${positions} tokens before it fill no whole block of ${blockSize}: their K and V were copied, nothing was computed again.`;
}

function Tree({ rows, run, controller }) {
  const end = Math.max(...rows.map(({ to }) => to), 1);
  return html`<ol class="tree scrolls anchor">
    ${rows.map((row) => html`<${Row} key=${row.id} row=${row} rows=${rows} run=${run} end=${end} controller=${controller} />`)}
  </ol>`;
}

function Row({ row, rows, run, end, controller }) {
  const current = row.id === run.id;
  const visit = () => {
    if (current) return;
    const position = partingPosition(rows, run.id, row.id);
    controller.visitRelative(row.id, Math.max(0, position - run.promptLength));
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
    <button type="button" aria-current=${current ? "true" : undefined} onClick=${visit} title=${wordsOf(row, current)}>
      <span class="tree-name cut small" style=${`--depth:${row.depth}`}>
        ${row.token ? html`<${Token} token=${row.token} limit=${14} />` : "first run"}
      </span>
      <span class="tree-line anchor" style=${style}>
        ${row.parentRow !== null && html`<i class="tree-elbow"></i>`}<i class="tree-bar"></i>
      </span>
      <span class="visually-hidden">${wordsOf(row, current)}</span>
    </button>
  </li>`;
}

function wordsOf({ token, position, from, to, status, reason }, current) {
  const what = token ? `given ${quoted(token)} at position ${position}` : "the first run";
  const long = counted(to - from, "token");
  const how = status === "closed" ? ending({ reason }) : status;
  return `${what}, ${long}${token ? " of its own" : ""}, ${how}${current ? ", shown now" : ""}`;
}
