/** The address of the page: `/compare?a=<id>&b=<id>#step=3&layer=13&head=8`, where an id is that of a run or a saved session. Pure. */

import { formatHash, parseHash } from "../shared/state/location.js";

/** A run's id as the server makes it; that of a recorded run is shorter. Ids of saved sessions have other letters too. */
const RUN = /^(?:[0-9a-f]{16}|[0-9a-f]{32})$/;
const ID = /^[0-9a-z_-]{8,64}$/i;

/** @returns {boolean} whether an id is a run's, and not a saved session's */
export const isRun = (id) => RUN.test(id);

/**
 * @param {string} search
 * @param {{id: string, name?: string}[]} recordings that ship, which an address may call by their names
 * @returns {{a: string|null, b: string|null}} ids
 */
export function sidesOf(search, recordings = []) {
  const query = new URLSearchParams(search);
  const [a, b] = ["a", "b"].map((side) => {
    const id = recordings.find(({ name }) => name === query.get(side))?.id ?? query.get(side) ?? "";
    return ID.test(id) ? id : null;
  });
  return { a, b };
}

/** @returns {{moment?: number, layer?: number, head?: number}} */
export function placeOf(hash) {
  const { step, layer, head } = parseHash(hash);
  return Object.fromEntries(Object.entries({ moment: step, layer, head }).filter(([, value]) => value !== undefined));
}

/**
 * @param {{a: {id: string|null}, b: {id: string|null}, place: Object}} state
 * @param {string} search of the address before; it may name the language
 * @returns {string} query and hash
 */
export function addressOf({ a, b, place }, search) {
  const language = new URLSearchParams(search).get("lang");
  const named = Object.entries({ lang: language, a: a.id, b: b.id }).filter(([, value]) => value !== null);
  const query = new URLSearchParams(named).toString();
  return `${query && `?${query}`}${formatHash({ step: place.moment, layer: place.layer, head: place.head })}`;
}

/**
 * @param {string} text that somebody pasted: a link to a run, a saved session or an embed, or an id
 * @returns {string|null} the id; null if the text has none
 */
export function idIn(text) {
  const pasted = text.trim();
  if (ID.test(pasted)) return pasted;
  const run = /[?&]run=([^&#]+)/.exec(pasted)?.[1];
  const session = /\/(?:s|embed)\/([^/?#.]+)/.exec(pasted)?.[1];
  const id = run ?? session ?? null;
  return id !== null && ID.test(id) ? id : null;
}
