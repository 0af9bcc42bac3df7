/** Texts of fields in an address. Pure. */

/** @returns {Object<string, string>} the text of each field; `first`: texts of fields that the address leaves out */
export function readSearch(search, first) {
  const parameters = new URLSearchParams(search);
  return Object.fromEntries(Object.entries(first).map(([name, text]) => [name, parameters.get(name) ?? text]));
}

/**
 * @param {Object<string, string>} texts
 * @param {Object<string, string>} first
 * @param {string} search of the current address, which may have the language of the page
 * @returns {string} "" or with its `?`: the language, and the fields that differ from `first`
 */
export function searchOf(texts, first, search) {
  const language = new URLSearchParams(search).get("lang");
  const changed = Object.entries(texts).filter(([name, text]) => text !== first[name]);
  const query = new URLSearchParams([...(language ? [["lang", language]] : []), ...changed]).toString();
  return query && `?${query}`;
}
