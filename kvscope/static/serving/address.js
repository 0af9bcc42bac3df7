/** The address of the page of serving: `/serving?run=<id>&experiment=<id>#pass=3`, each part optional. Pure. */

import { shownPass } from "./state.js";

/** @returns {number|null} the pass that the address names */
export function passOfHash(hash) {
  const named = new URLSearchParams(hash.replace(/^#/, "")).get("pass");
  return /^\d{1,9}$/.test(named ?? "") ? Number(named) : null;
}

/** @returns {string} the part of the address that names the shown pass; "" while the page follows the newest one */
export function hashOf(state) {
  const shown = shownPass(state);
  return state.mode === "following" || shown < 0 ? "" : `#pass=${shown}`;
}

/** @returns {string|null} the experiment that the address names, which need not exist */
export function experimentOfSearch(search) {
  return new URLSearchParams(search).get("experiment") || null;
}

/** @returns {string} `search` with the workload and the experiment of the state */
export function searchOf({ run, experiment }, search) {
  const named = new URLSearchParams(search);
  for (const [name, value] of Object.entries({ run, experiment })) {
    if (value === null) named.delete(name);
    else named.set(name, value);
  }
  const text = named.toString();
  return text ? `?${text}` : "";
}
