/** The search over everything that the pages explain: a field, and the hits in groups below it. */

import { html } from "htm/preact";
import MiniSearch from "minisearch";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useFetched } from "../loading/use-fetched.js";
import { under } from "../log/root.js";
import { msg } from "../words/msg.js";
import { loadIndex } from "./load-index.js";
import { createMatcher, grouped } from "./matching.js";

/** Names of the groups by the kind of an entry. */
const GROUPS = {
  term: msg`Terms`,
  idea: msg`Ideas`,
  lesson: msg`Lessons`,
  page: msg`Pages and views`,
  view: msg`Pages and views`,
  recording: msg`Recordings`,
  setting: msg`Settings and experiments`,
  printed: msg`Printed elsewhere`,
  elsewhere: msg`Not in KVScope`,
};
const MOST_IN_GROUP = 5;

/** @param {{close: () => void, newTab: boolean}} props */
export function Search({ close, newTab }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const { value: entries, failed } = useFetched(loadIndex);
  const find = useMemo(() => entries && createMatcher(MiniSearch, entries), [entries]);
  const result = useMemo(() => resultOf(query, find, entries), [query, find, entries]);
  const field = useRef(/** @type {HTMLInputElement|null} */ (null));
  const list = useRef(/** @type {HTMLElement|null} */ (null));
  const count = result.groups.reduce((sum, [, hits]) => sum + hits.length, 0);
  useLayoutEffect(() => field.current?.focus(), []);
  useLayoutEffect(
    () => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }),
    [at, result],
  );
  const type = (event) => {
    setQuery(event.currentTarget.value);
    setAt(0);
  };
  const onKeyDown = (event) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to !== undefined && count) setAt((to + count) % count);
    else if (event.key === "Enter" && !event.isComposing) optionAt(list.current, at)?.click();
    else return;
    event.preventDefault();
  };
  return html`
    <input
      class="find-field" type="text" enterkeyhint="go" role="combobox" aria-label=${msg`Search`} aria-expanded=${count > 0} aria-controls="find-list"
      aria-autocomplete="list" aria-activedescendant=${count ? `find-${at}` : undefined} aria-describedby="find-status"
      autocomplete="off" autocapitalize="off" spellcheck=${false} placeholder=${msg`PagedAttention, top-p, why a cache…`}
      ref=${field} value=${query} onInput=${type} onKeyDown=${onKeyDown}
    />
    <p class="find-status muted" id="find-status" role="status">${failed ? msg`The search could not be loaded: the server does not respond.` : result.status}</p>
    <div class="find-list" id="find-list" role="listbox" aria-label=${msg`Results`} ref=${list}>
      ${numbered(result.groups).map(
        ([name, hits]) => html`<div key=${name} role="group" aria-label=${name}>
          <p class="find-group muted strong" aria-hidden="true">${name}</p>
          ${hits.map(({ hit, number }) => html`<${Hit} key=${`${hit.kind} ${hit.id}`} hit=${hit} number=${number} chosen=${number === at} newTab=${newTab} close=${close} />`)}
        </div>`,
      )}
    </div>
  `;
}

/** Shows a hit as a link, or as text if it has no address. */
function Hit({ hit, number, chosen, newTab, close }) {
  const { name, text, address } = hit;
  const option = { id: `find-${number}`, class: "find-hit", role: "option", "aria-selected": chosen };
  const words = html`<b>${name}</b> <span>${text}</span>`;
  if (address === null) return html`<div ...${option}>${words}</div>`;
  const target = newTab ? { target: "_blank", rel: "noopener" } : {};
  return html`<a ...${option} ...${target} tabindex="-1" href=${under(address)} onClick=${close}>${words}</a>`;
}

/** @returns {{status: string, groups: [string, import("./load-index.js").Entry[]][]}} */
function resultOf(query, find, entries) {
  if (!find) return { status: "", groups: [] };
  const pages = groupsOf(entries.filter(({ kind }) => kind === "page"));
  const typed = query.trim();
  if (!typed)
    return {
      status: msg`Type a word, a whole question, or a name or figure from another text, such as 640 MB.`,
      groups: pages,
    };
  const { hits, close } = find(typed);
  if (!hits.length)
    return {
      status: msg`Nothing matches “${typed}”. Try one word of it, a more general one, or start from a page:`,
      groups: pages,
    };
  const status = close
    ? msg`Nothing matches all of “${typed}”. This is closest:`
    : msg`Arrow keys select, Enter opens.`;
  return { status, groups: groupsOf(hits) };
}

function groupsOf(hits) {
  return grouped(hits, ({ kind }) => GROUPS[kind], MOST_IN_GROUP);
}

/** Numbers the hits through all groups, in the order of the arrow keys. */
function numbered(groups) {
  let next = 0;
  return groups.map(([name, hits]) => [name, hits.map((hit) => ({ hit, number: next++ }))]);
}

/** @returns {HTMLElement|null} */
function optionAt(list, at) {
  return list.querySelector(`#find-${at}`);
}
