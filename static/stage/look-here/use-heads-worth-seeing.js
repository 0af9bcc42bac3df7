/** Measures a run's heads while the page has nothing better to do. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useLater } from "../../shared/painting/later.js";
import { addRows, emptyTally, headsWorthSeeing } from "./heads-worth-seeing.js";

/** The longest one job takes, in ms, of the time that a frame has for all of the page. */
const TURN_MS = 3;
/** A growing run is measured again this often at most, in ms. */
const PAUSE_MS = 400;

/**
 * @param {import("../../shared/log/run.js").Run|null} run
 * @param {number} positions rows to measure. Fewer than before, as where a run is played again: all is measured anew
 * @returns {{items: Object[], measured: number}} `measured`: positions the items are about
 */
export function useHeadsWorthSeeing(run, positions) {
  const tally = useRef(null);
  const [found, setFound] = useState({ run: null, items: [], measured: 0 });
  const later = useLater();

  useEffect(() => {
    if (!positions) return undefined;
    const goesOn = tally.current?.run === run && tally.current.positions <= positions;
    tally.current = goesOn ? { ...tally.current, positions } : { run, positions, values: emptyTally(run), due: 0 };
    const { values, due } = tally.current;
    const rows = addRows(values, run, positions);
    let forget = () => {};
    const turn = () => {
      const end = performance.now() + TURN_MS;
      let done = false;
      while (!done && performance.now() < end) done = rows.next().done;
      if (!done) {
        forget = later(turn);
        return;
      }
      tally.current.due = performance.now() + PAUSE_MS;
      setFound({ run, items: headsWorthSeeing(values, run), measured: positions });
    };
    const begin = () => {
      forget = later(turn);
    };
    const timer = setTimeout(begin, Math.max(0, due - performance.now()));
    return () => {
      clearTimeout(timer);
      forget();
    };
  }, [run, positions, later]);

  return found.run === run && found.measured <= positions ? found : { items: [], measured: 0 };
}
