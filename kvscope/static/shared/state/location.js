/**
 * The part of the page's state in the URL hash: one table of typed properties, for reading and writing.
 * `#step=3&layer=13&head=8&query=8&key=1&view=head&focus=attn.weights&code=1`. They are followed by the changes that are composed for the run, one parameter each
 * (facts/change-text.js): `&change=zero+head+layer+13+head+8`
 */

import { VIEWS } from "./views.js";

/** Above every step, layer, head and position of any run. */
const MOST = 999_999;

/** A step, layer, head or position. A whole number out of range becomes the nearest allowed one. */
const natural = {
  parse: (text) => (/^-?[0-9]{1,300}$/.test(text) ? Math.min(Math.max(Number(text), 0), MOST) : undefined),
  format: (value) => (Number.isInteger(value) && value >= 0 ? String(value) : undefined),
};

const oneOf = (...names) => ({
  parse: (text) => (names.includes(text) ? text : undefined),
  format: (value) => (names.includes(value) ? value : undefined),
});

/** Names of parts, which focus.js explains; none is the whole page. */
const names = {
  parse: (text) => text.split(",").filter(Boolean),
  format: (value) => value?.join(),
};

const flag = {
  parse: (text) => ({ 0: false, 1: true })[text],
  format: (value) => (value ? "1" : undefined),
};

export const PROPERTIES = {
  step: natural,
  layer: natural,
  head: natural,
  query: natural,
  key: natural,
  view: oneOf(...VIEWS),
  focus: names,
  code: flag,
};

/**
 * @param {string} hash with or without its `#`
 * @returns {Object} the well-formed properties; unknown names and invalid values are ignored, and of a repeated name the last
 *   valid value counts. `change`: a list of texts, which are read when their panel opens
 */
export function parseHash(hash) {
  const values = {};
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  for (const [name, text] of params) {
    const value = Object.hasOwn(PROPERTIES, name) ? PROPERTIES[name].parse(text) : undefined;
    if (value !== undefined) values[name] = value;
  }
  const change = params.getAll("change").filter(Boolean);
  return change.length ? { ...values, change } : values;
}

/** @returns {string} the hash with its `#`, properties in table order; "" without any */
export function formatHash(values) {
  const params = new URLSearchParams();
  for (const [name, type] of Object.entries(PROPERTIES)) {
    const text = type.format(values[name]);
    if (text) params.set(name, text);
  }
  for (const text of values.change ?? []) params.append("change", text);
  const text = params.toString().replaceAll("%2C", ",");
  return text ? `#${text}` : "";
}

/** @returns {boolean} whether a page address asks for large type: `/?present=1` */
export function presentOfSearch(search) {
  return new URLSearchParams(search).get("present") === "1";
}

/** @returns {string|null} the run that a page address names: `/?run=<id>` */
export function runOfSearch(search) {
  return new URLSearchParams(search).get("run");
}

/** @returns {string|null} the run that the hash names on a page of a static site, whose path and query never change: `#step=3&run=<id>` */
export function runOfHash(hash) {
  return new URLSearchParams(hash.replace(/^#/, "")).get("run");
}
