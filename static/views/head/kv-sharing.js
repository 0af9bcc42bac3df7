/** Grouped-query attention of one layer: which query heads read which K/V head. Each head is a way there. */

import { html } from "htm/preact";
import { kvHeadOf, readersOf } from "../../facts/attention.js";

export function KvSharing({ run, focus, dispatch }) {
  const { head, preview } = focus;
  const shared = kvHeadOf(run, head);
  const groups = Array.from({ length: run.kvHeads }, (_, kvHead) => readersOf(run, kvHead));
  const choose = (to) => dispatch({ type: "select", selection: { head: to } });
  return html`<section class="kv-sharing" aria-label="Heads that share K and V">
    <div class="kv-groups">
      ${groups.map(
        ([first, last], kvHead) => html`<div class=${`kv-group ${kvHead === shared ? "is-shared" : ""}`} key=${kvHead}>
          <div class="kv-readers">
            ${Array.from({ length: last - first + 1 }, (_, place) => first + place).map(
              (reader) => html`<button
                type="button" key=${reader} aria-label=${`Head ${reader}, reads KV head ${kvHead}`}
                aria-pressed=${reader === head} disabled=${preview} onClick=${() => choose(reader)}
              >${reader}</button>`,
            )}
          </div>
          <span class="kv-name">KV ${kvHead}</span>
        </div>`,
      )}
    </div>
    <p>${sharingSentence(run, head)}</p>
  </section>`;
}

/** @returns {string} who reads the same K and V as this head, in words */
function sharingSentence(run, head) {
  const kvHead = kvHeadOf(run, head);
  const [first, last] = readersOf(run, kvHead);
  if (run.heads === 1) return "One head with a K and V of its own.";
  if (first === last) return `Head ${head} has a K and V of its own: KV ${kvHead}.`;
  const names = last - first < 4 ? listed(first, last) : `${first} to ${last}`;
  return `Heads ${names} read the same K and V, each with a Q of its own.`;
}

function listed(first, last) {
  const names = Array.from({ length: last - first + 1 }, (_, place) => first + place);
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
