/** Asks for the effects of all parts of some kinds, some at a time, until they are all there or the reader stops or leaves. */

import { useEffect, useRef } from "preact/hooks";
import { effectsKey, effectsOf } from "../../state/effects.js";

/**
 * @param {{state: Object, client: Object, dispatch: Function}} page
 * @param {{run: string, step: number, kinds: string[]}} about all kinds have as many parts
 * @returns {Object} as `effectsOf`, with `start` and `stop`. `effects`: kind after kind, `count` in all; `ms`: what the passes so far took;
 *   `start` goes on where it stopped
 */
export function useEffects({ state, client, dispatch }, about) {
  const { run, step, kinds } = about;
  const key = effectsKey(about);
  const found = effectsOf(state, about);
  const turn = useRef(0);
  const latest = useRef(found);
  latest.current = found;
  const keep = (next) => dispatch({ type: "effects", key, found: next });

  const start = async () => {
    turn.current += 1;
    const mine = turn.current;
    dispatch({ type: "pause" });
    let known = { ...found, status: "running", problem: null };
    keep(known);
    try {
      while (!known.count || known.effects.length < known.count) {
        const done = known.effects.length;
        const each = known.count / kinds.length || 1;
        const part = await client.ask("effects")({ run, step, of: kinds[Math.floor(done / each)], first: done % each });
        if (turn.current !== mine) return;
        const effects = [...known.effects, ...part.effects];
        known = { ...known, count: part.count * kinds.length, effects, ms: known.ms + part.ms, base: part.base };
        keep(known);
      }
      keep({ ...known, status: "done" });
    } catch (problem) {
      if (turn.current === mine) keep({ ...known, status: "failed", problem });
    }
  };
  const stop = () => {
    turn.current += 1;
    if (latest.current.status === "running") keep({ ...latest.current, status: "stopped" });
  };
  useEffect(() => stop, [key]);
  return { ...found, start, stop };
}
