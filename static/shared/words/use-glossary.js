/** Reads the glossary once. */

import { useEffect, useState } from "preact/hooks";
import { useLater } from "../painting/later.js";

/** @returns {Object<string, {name: string, text: string}>} definitions by id; empty until they are here */
export function useGlossary(client) {
  const [glossary, setGlossary] = useState({});
  const later = useLater();
  useEffect(() => {
    const aborter = new AbortController();
    let forget = () => {};
    client
      .glossary(aborter)
      // Every defined word of the page is rendered again with it.
      .then((definitions) => {
        forget = later(() => setGlossary(definitions));
      })
      // Without it words have no definition, and everything else works.
      .catch(() => {});
    return () => {
      aborter.abort();
      forget();
    };
  }, [client, later]);
  return glossary;
}
