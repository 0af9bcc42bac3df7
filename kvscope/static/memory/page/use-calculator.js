/** The state of the page: the fields, the last valid setup, and what is wrong. The address holds it too. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { FIRST, readSearch, searchOf } from "../address.js";
import { readConfig } from "../config.js";
import { readSetup } from "../setup.js";

/** Browsers refuse to write the address more often. */
const ADDRESS_MS = 250;

/**
 * @param {{known: {models: Object[], gpus: Object[]}, window: Window, framed: boolean}} options in a frame, the
 *   address belongs to another page
 * @returns {{texts: Object, setup: import("../setup.js").Setup, problem: import("../limits.js").Problem|null,
 *   pasted: Object, run: string|null, session: string|null, search: string, actions: Object}} `setup`: the
 *   last valid one while a field is wrong
 */
export function useCalculator({ known, window, framed }) {
  const [state, setState] = useState(() => ({
    ...readSearch(window.location.search),
    pasted: { text: "", problem: "" },
  }));
  const { texts, run, session, pasted } = state;
  const answer = useMemo(() => readSetup(texts, known), [texts]);
  const last = useRef(null);
  if ("setup" in answer) last.current = answer.setup;
  else last.current ??= /** @type {*} */ (readSetup(FIRST, known)).setup;
  const search = searchOf({ texts, run, session });
  useEffect(() => {
    if (framed) return undefined;
    const write = () => window.history.replaceState(null, "", `${window.location.pathname}${search}`);
    const timer = setTimeout(write, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [search]);

  const put = (field, text) => setState((now) => ({ ...now, texts: { ...now.texts, [field]: text } }));
  const actions = {
    put,
    chooseModel: (id) =>
      setState((now) => ({
        ...now,
        texts: { ...now.texts, model: id, config: "" },
        pasted: { text: "", problem: "" },
      })),
    /** A config that cannot be read leaves the model as it was. */
    paste: (text) =>
      setState((now) => {
        const read = text.trim() ? readConfig(text) : { problem: { text: "" } };
        if ("problem" in read) return { ...now, pasted: { text, problem: read.problem.text } };
        return { ...now, pasted: { text, problem: "" }, texts: { ...now.texts, config: read.relevant } };
      }),
    reset: () => setState((now) => ({ ...now, texts: FIRST, pasted: { text: "", problem: "" } })),
  };
  const problem = "problem" in answer ? answer.problem : null;
  return { texts, setup: last.current, problem, pasted, run, session, search, actions };
}
