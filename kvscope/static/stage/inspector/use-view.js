/** The code of a view, fetched when the view is first opened: most visits open few of them. */

import { useRef } from "preact/hooks";
import { useFetched } from "../../shared/loading/use-fetched.js";

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
  const { value, failed } = useFetched(VIEWS[view]);
  const last = useRef({ view, entered, Shown: null });
  if (value) last.current = { view, entered, Shown: value };
  return { ...last.current, failed };
}
