/** The state of the page: what is in the fields, what was understood of it last, what is wrong. It is in the address, too. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { FIRST, readSearch, searchOf } from "../address.js";
import { understand } from "../asked.js";
import { readConfig } from "../config.js";

/** Writing the address more often is refused by browsers. */
const ADDRESS_MS = 250;

/**
 * @param {{known: {models: Object[], gpus: Object[]}, window: Window, framed: boolean}} options in a frame the address is
 *   another page's to write
 * @returns {{texts: Object, understood: import("../asked.js").Understood, problem: import("../limits.js").Problem|null,
 *   pasted: Object, run: string|null, session: string|null, search: string, actions: Object}} `understood`: of what is wrong,
 *   what there was before
 */
export function useCalculator({ known, window, framed }) {
  const [state, setState] = useState(() => ({
    ...readSearch(window.location.search),
    pasted: { text: "", problem: "" },
  }));
  const { texts, run, session, pasted } = state;
  const answer = useMemo(() => understand(texts, known), [texts]);
  const last = useRef(null);
  if ("understood" in answer) last.current = answer.understood;
  else last.current ??= /** @type {*} */ (understand(FIRST, known)).understood;
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
    /** What cannot be read is told beside it, and the model stays the one that there was. */
    paste: (text) =>
      setState((now) => {
        const read = text.trim() ? readConfig(text) : { problem: { text: "" } };
        if ("problem" in read) return { ...now, pasted: { text, problem: read.problem.text } };
        return { ...now, pasted: { text, problem: "" }, texts: { ...now.texts, config: read.matters } };
      }),
    reset: () => setState((now) => ({ ...now, texts: FIRST, pasted: { text: "", problem: "" } })),
  };
  const problem = "problem" in answer ? answer.problem : null;
  return { texts, understood: last.current, problem, pasted, run, session, search, actions };
}
