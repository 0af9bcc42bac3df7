/** The code of a view, fetched when the view is first opened: most visits open few of them. */

import { useEffect, useRef, useState } from "preact/hooks";

/** Time before another try when code could not be fetched, in ms. */
const RETRY_MS = 2000;

const VIEWS = {
  model: async () => (await import("../views/model/model-view.js")).ModelView,
  block: async () => (await import("../views/block/block-view.js")).BlockView,
  head: async () => (await import("../views/head/head-view.js")).HeadView,
  pair: async () => (await import("../views/pair/pair-view.js")).PairView,
  tokens: async () => (await import("../views/tokens/tokens-view.js")).TokensView,
  cache: async () => (await import("../views/cache/cache-view.js")).CacheView,
  time: async () => (await import("../views/time/time-view.js")).TimeView,
  effects: async () => (await import("../views/effects/effects-view.js")).EffectsView,
};

/**
 * @param {{view: string, entered: number}} wanted from the store
 * @returns {{view: string, entered: number, Shown: Function|null, failed: boolean}} the wanted view once its code
 *   is loaded; until then the previous one, or `Shown` null if there was none. `failed`: the wanted one cannot be fetched
 */
export function useView({ view, entered }) {
  const [loaded, setLoaded] = useState({});
  const [failed, setFailed] = useState(null);
  const last = useRef({ view, entered, Shown: null });
  useEffect(() => {
    if (loaded[view]) return undefined;
    let over = false;
    let timer = null;
    setFailed(null);
    const fetchIt = async () => {
      try {
        const Shown = await VIEWS[view]();
        if (!over) setLoaded((known) => ({ ...known, [view]: Shown }));
      } catch {
        if (over) return;
        setFailed(view);
        timer = setTimeout(fetchIt, RETRY_MS);
      }
    };
    fetchIt();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [view]);
  if (loaded[view]) last.current = { view, entered, Shown: loaded[view] };
  return { ...last.current, failed: failed === view && !loaded[view] };
}
