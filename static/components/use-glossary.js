/** Reads the glossary once. */

import { useEffect, useState } from "preact/hooks";

/** @returns {Object<string, {name: string, text: string}>} definitions by id; empty until they are here */
export function useGlossary(client) {
  const [glossary, setGlossary] = useState({});
  useEffect(() => {
    const aborter = new AbortController();
    client
      .glossary(aborter)
      .then(setGlossary)
      // Without it words have no definition, and everything else works.
      .catch(() => {});
    return () => aborter.abort();
  }, [client]);
  return glossary;
}
