/** Texts of fields in an address. Pure. */

/** @returns {Object<string, string>} the text of each field; `first`: of those that the address leaves out */
export function readSearch(search, first) {
  const given = new URLSearchParams(search);
  return Object.fromEntries(Object.entries(first).map(([name, text]) => [name, given.get(name) ?? text]));
}

/**
 * @param {Object<string, string>} texts
 * @param {Object<string, string>} first
 * @param {string} search the address before; it may name the language of the page
 * @returns {string} "" or with its `?`: the language, and the fields that differ from `first`
 */
export function searchOf(texts, first, search) {
  const language = new URLSearchParams(search).get("lang");
  const changed = Object.entries(texts).filter(([name, text]) => text !== first[name]);
  const written = new URLSearchParams([...(language ? [["lang", language]] : []), ...changed]).toString();
  return written && `?${written}`;
}
