/** Reads the glossary once. */

import { useEffect, useState } from "preact/hooks";

const ADDRESS = new URL("../glossary.json", import.meta.url);

/** @returns {Object<string, {name: string, text: string}>} definitions by id; empty until they are here */
export function useGlossary() {
  const [glossary, setGlossary] = useState({});
  useEffect(() => {
    const aborter = new AbortController();
    fetch(ADDRESS, { signal: aborter.signal })
      .then((response) => (response.ok ? response.json() : {}))
      .then(setGlossary)
      // Without it words have no definition, and everything else works.
      .catch(() => {});
    return () => aborter.abort();
  }, []);
  return glossary;
}
