/** The experiment with agents: what the cache holds of each one's prompts, what that costs, and where a prompt parts from it. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { fixed, integer, listed, percent } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { costOf, totalOf } from "../conversation.js";

const FIRST_PRICE = { plain: "3", cached: "0.3" };
const PRICES = [
  { id: "plain", label: msg`Price of a million tokens: computed` },
  { id: "cached", label: msg`in the cache` },
];

/** @param {{result: import("../results.js").Result, log: import("../workload-log.js").Workload}} props */
export function ConversationResult({ result: { rounds, conclusion, ofFile: own }, log }) {
  const [price, setPrice] = useState(FIRST_PRICE);
  const [first] = rounds;
  const columns = [
    { words: true, head: own ? msg`a request of the file` : msg`an agent that` },
    { head: msg`tokens sent` },
    ...rounds.flatMap(({ name }) => [
      { head: msg`computed, ${name}` },
      { head: msg`in the cache` },
      { head: msg`cost of 1,000` },
    ]),
  ];
  const cellsOf = (habit) => [
    integer(habit.computed),
    percent(habit.cached / habit.sent, 0),
    fixed(costOf(habit, { plain: numberOf(price.plain), cached: numberOf(price.cached) }), 2),
  ];
  const rows = first.details.map((habit, at) => ({
    key: habit.agent.id,
    head: habit.agent.name,
    cells: [integer(habit.sent), ...rounds.flatMap(({ details }) => cellsOf(details[at]))],
  }));
  if (own) {
    const totals = rounds.map(({ details }) => totalOf(details));
    rows.push({ key: "all", head: msg`all`, cells: [integer(totals[0].sent), ...totals.flatMap(cellsOf)] });
  }
  return html`<section class="stack tight" aria-label=${own ? msg`Result of the conversation` : msg`Result of the agents`}>
    <h2>${own ? msg`What the cache holds of these prompts` : msg`What the cache holds of each agent’s prompts`} <${Badge} origin="measured" /></h2>
    ${conclusion && html`<p>${conclusion}</p>`}
    <div class="result-inputs line wide">${PRICES.map(
      ({ id, label }) => html`<label key=${id} class="line"><span class="muted">${label}</span>
        <input class="field number" type="number" min="0" step="0.05" value=${price[id]} onInput=${(event) => setPrice({ ...price, [id]: event.currentTarget.value })} /></label>`,
    )}</div>
    <${Table} name=${own ? msg`Requests of the file` : msg`Agents`} columns=${columns} rows=${rows} />
    <p class="muted">${noteText(own, log.open.block_size)}</p>
    ${
      (!own || first.details.length > 1) &&
      html`<h3>${own ? msg`Where each prompt first parts from the one before` : msg`Where a prompt of each first parts from the one before`}</h3>
    <ul class="partings stack tight">${first.details.map(({ agent }, at) => html`<${Parts} key=${agent.id} at=${at} rounds=${rounds} />`)}</ul>`
    }
  </section>`;
}

function noteText(own, blockSize) {
  const cost = msg`Cost: of the prompts of 1,000 such conversations, each from an empty cache, in the currency of the prices; answers are not counted. Full blocks: only whole blocks of ${blockSize} tokens are in the cache.`;
  const template = msg`The first request of each agent counts as computed whole, although the start of the chat template, which all agents have in common, is in the cache.`;
  return own ? cost : `${cost} ${template}`;
}

/** @returns {number} a price as it was typed; 0 for none and for less than nothing */
function numberOf(text) {
  return Math.max(0, Number(text) || 0);
}

/** @returns {number} the place of the first request that changes what came before, or else of the last one */
function firstParting(requests) {
  const at = requests.findIndex(({ parts }) => parts);
  return at < 0 ? requests.length - 1 : at;
}

/** `at`: the place of the agent in the details of each round. */
function Parts({ at, rounds }) {
  const habits = rounds.map(({ details }) => details[at]);
  const [{ agent, requests }] = habits;
  const place = firstParting(requests);
  const { parts, tokens, isFirst } = requests[place];
  if (isFirst) return null;
  const held = rounds.map(({ name }, round) => msg`${integer(habits[round].requests[place].cached)} (${name})`);
  return html`<li><b>${agent.name}</b>: ${
    parts
      ? html`<code>…${parts.same}</code><code class="is-before">${parts.before}…</code> → <code class="is-after">${parts.after}…</code>`
      : msg`the whole prompt before is repeated.`
  } <span class="muted">${msg`In the cache, of ${integer(tokens)} tokens: ${listed(held)}.`}</span></li>`;
}
