/** Loads the glossary once, in the language of the page. */

import { useEffect, useState } from "preact/hooks";
import { useLater } from "../painting/later.js";
import { translated } from "./msg.js";

/** @returns {Object<string, {name: string, text: string}>} definitions by id; empty until they are loaded */
export function useGlossary(client) {
  const [glossary, setGlossary] = useState({});
  const later = useLater();
  useEffect(() => {
    const aborter = new AbortController();
    let forget = () => {};
    client
      .glossary(aborter)
      // In the painting queue, because every defined term of the page renders again.
      .then((definitions) => {
        forget = later(() => setGlossary(inPageLanguage(definitions)));
      })
      // Without the glossary, terms have no definition and everything else works.
      .catch(() => {});
    return () => {
      aborter.abort();
      forget();
    };
  }, [client, later]);
  return glossary;
}

function inPageLanguage(definitions) {
  const entries = Object.entries(definitions);
  return Object.fromEntries(
    entries.map(([id, { name, text }]) => [id, { name: translated(name), text: translated(text) }]),
  );
}
