/** The texts of a page's fields, which are also in its address. */

import { useEffect, useState } from "preact/hooks";

/** Interval between changes of the address, in ms: browsers refuse more frequent ones. */
const ADDRESS_MS = 250;

/**
 * @param {Object<string, string>} first the text of each field that the address leaves out
 * @returns {[Object<string, string>, (name: string, text: string) => void]} the texts, and a function that changes one
 */
export function useAddress(first) {
  const [texts, setTexts] = useState(() => readSearch(window.location.search, first));
  const search = searchOf(texts, first, window.location.search);
  useEffect(() => {
    const write = () => window.history.replaceState(null, "", `${window.location.pathname}${search}`);
    const timer = setTimeout(write, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [search]);
  return [texts, (name, text) => setTexts((now) => ({ ...now, [name]: text }))];
}

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
