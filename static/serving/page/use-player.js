/** The player over a log's passes: its clock, its keys, and the pass in the address. */

import { useEffect, useReducer, useRef } from "preact/hooks";
import { isTaken } from "../../shared/state/keyboard.js";
import { openingPass, passOfHash, played, playerAt, shownPass } from "../player.js";

const ADDRESS_MS = 250;
/** What already stood in the log comes in less of the time that it took to be made. */
const READ_SHARE = 0.6;

/**
 * @param {import("../../shared/log/workload.js").Workload|null} log
 * @param {{framed: boolean, saved?: Object|null, plays?: boolean, leaving?: boolean}} how `framed`: the address is another page's to
 *   write; `saved`: its session may say where it opens; `plays`: from its start, unless somebody wants things to stand still;
 *   `leaving`: the address is already that of another log, which is awaited
 */
export function usePlayer(log, { framed, saved = null, plays = false, leaving = false }) {
  const count = log?.passes.length ?? 0;
  const live = log !== null && !log.close;
  const [player, act] = useReducer(
    (state, action) => (action.type === "open" ? playerAt(action.pass) : played(state, action, action.log)),
    null,
    () => playerAt(passOfHash(window.location.hash) ?? saved?.open?.step ?? null),
  );
  const shown = shownPass(player, count);
  const dispatch = (action) => act({ ...action, log: { count, live } });
  const latest = useRef(null);
  latest.current = { dispatch, player };

  useOpening(log, player, act, plays);
  useEffect(() => {
    if (player.mode !== "playing" || !log || shown < 0) return undefined;
    const timer = setTimeout(() => dispatch({ type: "tick" }), log.passes[shown].ms / player.speed);
    return () => clearTimeout(timer);
  }, [player, shown, count, live]);
  useEffect(() => listenToKeys(latest), []);
  useEffect(() => {
    if (framed || leaving || shown < 0) return undefined;
    const { pathname, search } = window.location;
    const hash = player.mode === "following" ? "" : `#pass=${shown}`;
    const write = () => {
      if (window.location.search === search) window.history.replaceState(null, "", `${pathname}${search}${hash}`);
    };
    const timer = setTimeout(write, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [player.mode, shown < 0, leaving, player.mode === "following" ? null : shown]);
  return { player, shown, live, count, dispatch };
}

/** Another log is followed from its end on; one that was over before opens where there is most to see. */
function useOpening(log, player, act, plays) {
  const first = useRef(null);
  const id = log?.id ?? null;
  useEffect(() => {
    if (!id) return;
    if (first.current) act({ type: "open", pass: passOfHash(window.location.hash) });
    first.current = { at: performance.now() };
  }, [id]);
  const over = Boolean(log?.close);
  useEffect(() => {
    if (!over || player.mode !== "following" || !log.passes.length) return;
    if (plays && !window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      act({ type: "play", log: { count: log.passes.length, live: false } });
      return;
    }
    const took = log.rounds.reduce((sum, { end }) => sum + (end?.ms ?? 0), 0);
    if (performance.now() - first.current.at < READ_SHARE * took) act({ type: "open", pass: openingPass(log.passes) });
  }, [id, over]);
}

function listenToKeys(latest) {
  const press = (event) => {
    if (isTaken(event)) return;
    const { dispatch, player } = latest.current;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) dispatch({ type: "step", by });
    else if (event.key === " ") dispatch({ type: player.mode === "playing" ? "pause" : "play" });
    else return;
    event.preventDefault();
  };
  window.addEventListener("keydown", press);
  return () => window.removeEventListener("keydown", press);
}
