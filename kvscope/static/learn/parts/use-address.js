/** The texts of a page's fields, which are also in its address. */

import { useEffect, useState } from "preact/hooks";
import { readSearch, searchOf } from "./address.js";

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
