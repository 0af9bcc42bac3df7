/** The texts of a page's fields, which its address holds too. */

import { useEffect, useState } from "preact/hooks";

/** Browsers refuse to write the address more often. */
const ADDRESS_MS = 250;

/**
 * @param {Object<string, string>} first the text of each field that the address leaves out
 * @returns {[Object<string, string>, (name: string, text: string) => void]} and what changes one
 */
export function useAddress(first) {
  const [texts, setTexts] = useState(() => readSearch(window.location.search, first));
  const search = searchOf(texts, first);
  useEffect(() => {
    const write = () => window.history.replaceState(null, "", `${window.location.pathname}${search}`);
    const timer = setTimeout(write, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [search]);
  return [texts, (name, text) => setTexts((now) => ({ ...now, [name]: text }))];
}

/** @returns {Object<string, string>} */
export function readSearch(search, first) {
  const given = new URLSearchParams(search);
  return Object.fromEntries(Object.entries(first).map(([name, text]) => [name, given.get(name) ?? text]));
}

/** @returns {string} "" or with its `?`: the fields that differ from `first`, and the language of the page */
export function searchOf(texts, first, language = languageOf()) {
  const changed = Object.entries(texts).filter(([name, text]) => text !== first[name]);
  const search = new URLSearchParams([...language, ...changed]).toString();
  return search && `?${search}`;
}

function languageOf() {
  const lang = new URLSearchParams(globalThis.window?.location.search).get("lang");
  return lang ? [["lang", lang]] : [];
}
