/** Requests the effects of all parts of some kinds, a few at a time, until all are measured or the reader stops or leaves. */

import { useEffect, useRef } from "preact/hooks";
import { effectsKey, effectsOf, parametersOf } from "../../state/effects.js";

/**
 * Measures the effects of all parts of some kinds when `start` is called.
 *
 * @param {{state: Object, client: Object, dispatch: Function}} page
 * @param {{run: string, step: number, kinds: string[], how?: Object}} about all kinds have as many parts; `how`: zeros if absent
 * @returns {Object} as `effectsOf`, with `start` and `stop`. `effects`: kind after kind, `count` in all; `largest`: their largest distance;
 *   `ms`: what the passes so far took; `start` goes on where it stopped
 */
export function useEffects({ state, client, dispatch }, about) {
  const { run, step, kinds, how = {} } = about;
  const key = effectsKey(about);
  const measurement = effectsOf(state, about);
  const turn = useRef(0);
  const latest = useRef(measurement);
  latest.current = measurement;
  const store = (next) => dispatch({ type: "effects", key, found: next });

  const start = async () => {
    turn.current += 1;
    const mine = turn.current;
    dispatch({ type: "pause" });
    let current = { ...measurement, status: "running", problem: null };
    store(current);
    try {
      while (!current.count || current.effects.length < current.count) {
        const done = current.effects.length;
        const each = current.count / kinds.length || 1;
        const of = kinds[Math.floor(done / each)];
        const part = await client.ask("effects")({ run, step, of, first: done % each, ...parametersOf(how) });
        if (turn.current !== mine) return;
        const effects = [...current.effects, ...part.effects];
        const { base, foil = null, other = null, prompts = [] } = part;
        current = { ...current, ...{ base, foil, other, prompts, effects } };
        current = { ...current, count: part.count * kinds.length, ms: current.ms + part.ms };
        store(current);
      }
      store({ ...current, status: "done" });
    } catch (problem) {
      if (turn.current === mine) store({ ...current, status: "failed", problem });
    }
  };
  const stop = () => {
    turn.current += 1;
    if (latest.current.status === "running") store({ ...latest.current, status: "stopped" });
  };
  useEffect(() => stop, [key]);
  const largest = Math.max(0, ...measurement.effects.map(({ kl }) => kl));
  return { ...measurement, largest, start, stop };
}
