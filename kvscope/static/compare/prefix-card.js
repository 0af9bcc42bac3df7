/** Which blocks of the later run's prompt were read from the cache, and why the others were not. */

import { html } from "htm/preact";
import { integer, quoted } from "../shared/facts/format.js";
import { Badge } from "../shared/ui/badge.js";
import { positionsInWords, rowCount } from "../shared/words/counts.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { prefixOf } from "./prefix.js";

const STATES = {
  shared: msg`read from the cache: the block of an earlier run`,
  copied: msg`its first rows read from the cache, in a copy of an earlier run’s block, because this run writes the others`,
  computed: msg`computed`,
};

/** @param {{a: Object, b: Object, mine: (run: string) => boolean}} props runs; `mine`: whether this device started one */
export function PrefixCard({ a, b, mine }) {
  const prefix = prefixOf(a, b);
  if (!prefix) return null;
  if (!prefix.later)
    return html`<${Frame}><p class="muted">${msg`Both runs began in the same second, and their logs do not say which of them was first.`}</p><//>`;
  const { later, common, reused, prompt, blocks, reasons } = prefix;
  const [run, earlier] = later === "b" ? [b, a] : [a, b];
  const [name, other] = later === "b" ? ["B", "A"] : ["A", "B"];
  const [read, whole, same] = [integer(reused), integer(prompt), integer(common)];
  return html`<${Frame}>
    <p>${msg`${name} began later. It read ${read} of the ${whole} rows of its prompt from the cache.`} ${
      common > 0
        ? plural(
            common,
            form`The first ${same} token of its prompt is also in ${other}.`,
            form`The first ${same} tokens of its prompt are also in ${other}.`,
          )
        : msg`Its prompt begins with another token than ${other}.`
    }</p>
    ${reused > common && html`<p>${msg`It read more rows than it has in common with ${other}: another run of the same client began like it.`}</p>`}
    <ol class="compare-blocks" aria-label=${msg`Blocks of the prompt of ${name}`}>
      ${blocks.map((block) => html`<li key=${block.first} class=${`compare-block is-${block.state}`} title=${blockInWords(block)}><span class="visually-hidden">${blockInWords(block)}</span></li>`)}
    </ol>
    <p class="muted small"><i class="swatch is-cached"></i>${msg`read`} <i class="swatch is-both"></i>${msg`copied, then written to`} <i class="swatch is-computed"></i>${msg`computed`}</p>
    <ul class="compare-reasons stack tight">
      ${reasons.map((rows) => html`<li key=${rows.first}><b>${rowsInWords(rows)}</b> ${reasonInWords(rows.reason, { run, earlier, other, common, mine })}</li>`)}
    </ul>
  <//>`;
}

const Frame = ({
  children,
}) => html`<section class="own-card stack box" data-names="compare-prefix" aria-label=${msg`Prefix reuse`}>
  <h2>${msg`Which K and V were reused`} <${Badge} origin="measured" /></h2>
  ${children}
</section>`;

function blockInWords({ first, last, state }) {
  return msg`${positionsInWords(first, last)}: ${STATES[state]}`;
}

function rowsInWords({ first, last }) {
  const count = last - first + 1;
  return first === last ? msg`Position ${first}:` : msg`Positions ${first} to ${last} (${rowCount(count)}):`;
}

/** @param {string} reason of `prefixOf` */
function reasonInWords(reason, { run, earlier, other, common, mine }) {
  if (reason === "differs") return differs(run, earlier, other, common);
  if (reason === "elsewhere") return elsewhere(run, earlier, other, mine);
  return REASONS[reason];
}

const REASONS = {
  ended: msg`the earlier run computed no more rows.`,
  last: msg`the last row of a prompt is always computed, because the first new token is chosen from it.`,
  off: msg`this run was started without reuse.`,
  no_client: msg`this run’s client had no identity, and such a run shares nothing.`,
  evicted: msg`an earlier run of this client had computed them, and they were evicted from the cache to make room.`,
  computing: msg`an earlier run of this client had not computed them yet.`,
  window: msg`layers with a sliding window had let go of the rows that the next one reads.`,
  unshared: msg`the earlier run’s client had no identity, and such a run shares nothing.`,
  unknown: msg`the logs do not say why.`,
};

function differs(run, earlier, other, common) {
  const [mine, its] = [quoted(run.tokens[common]), quoted(earlier.tokens[common])];
  const position = integer(common);
  return msg`at position ${position}, ${other} has ${its}, not ${mine}. K and V of a row depend on all tokens before it, so none after that can be shared.`;
}

/** Names no client: it says only what the logs show, and which runs this browser started. */
function elsewhere(run, earlier, other, mine) {
  const [own, its] = [run, earlier].map(({ id, saved }) => !saved && mine(id));
  if (own && its)
    return msg`this engine had no such rows of this client. This browser started both runs, so ${other} ran on another engine, or before the engine was started again.`;
  if (own !== its)
    return msg`this engine had no such rows of this client. This browser started one of the two runs: runs of other clients share no blocks, whatever they begin with.`;
  return msg`this engine had no such rows of this client: ${other} is of another client, ran on another engine, or before the engine was started again.`;
}
