/** Measures a run's heads in the page's idle time. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useLater } from "../../shared/painting/later.js";
import { addRows, emptyTally, headsWorthSeeing } from "./heads-worth-seeing.js";

/** The longest one job takes, in ms, of the time that a frame has for all of the page. */
const TURN_MS = 3;
/** A growing run is measured again this often at most, in ms. */
const PAUSE_MS = 400;

/**
 * @param {import("../../shared/log/run.js").Run|null} run
 * @param {number} positions rows to measure. When they are fewer than before, as when a run is played again, all are measured again
 * @returns {{items: Object[], measured: number}} `measured`: positions that were measured
 */
export function useHeadsWorthSeeing(run, positions) {
  const tally = useRef(null);
  const [found, setFound] = useState({ run: null, items: [], measured: 0 });
  const later = useLater();

  useEffect(() => {
    if (!positions) return undefined;
    const continues = tally.current?.run === run && tally.current.positions <= positions;
    tally.current = continues ? { ...tally.current, positions } : { run, positions, values: emptyTally(run), due: 0 };
    const { values, due } = tally.current;
    const rows = addRows(values, run, positions);
    let cancel = () => {};
    const turn = () => {
      const end = performance.now() + TURN_MS;
      let done = false;
      while (!done && performance.now() < end) done = rows.next().done;
      if (!done) {
        cancel = later(turn);
        return;
      }
      tally.current.due = performance.now() + PAUSE_MS;
      setFound({ run, items: headsWorthSeeing(values, run), measured: positions });
    };
    const begin = () => {
      cancel = later(turn);
    };
    const timer = setTimeout(begin, Math.max(0, due - performance.now()));
    return () => {
      clearTimeout(timer);
      cancel();
    };
  }, [run, positions, later]);

  return found.run === run && found.measured <= positions ? found : { items: [], measured: 0 };
}
