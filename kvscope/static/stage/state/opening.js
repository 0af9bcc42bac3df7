/** Opens a run: watches its log, adds frames to the run in the store, and moves the playhead to the link's step. */

import { reasonOfClose } from "../../shared/facts/endings.js";
import { isHere } from "../../shared/log/device.js";
import { Run } from "../../shared/log/run.js";
import { isWord, tellingLook } from "../facts/opening-head.js";
import { canAsk } from "./run-request.js";

/** The log of a twin or beam search is not shown as a run: its link opens the original run, in the view that shows it. */
const STUDY_VIEWS = { twin: "cache", beam: "tokens" };

/** @typedef {{step?: number, layer?: number, head?: number, query?: number, key?: number, view?: string, focus?: string[]|null,
 *   code?: boolean, change?: string[]}} Link */

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {Object|null} parts.saved the saved session that the page was opened with
 * @param {(id: string, link: Object, insteadOf: string) => void} parts.onStudy called if the log is of a twin or
 *   beam search; opens the original run instead
 * @param {(id: string) => void} parts.onVisited called when a run that was not started here is opened
 * @param {() => void} parts.onOpened called when the opening of a run has arrived
 * @param {(id: string) => void} parts.onGone called if the run was one of this device, and no page has it any more
 * @param {() => void} parts.onFailed called when the run failed or was interrupted
 */
export function createOpening({ store, client, saved, onStudy, onVisited, onOpened, onGone, onFailed }) {
  const { dispatch, state } = store;
  let stopWatching = () => {};

  /** `chosen`: false if its head is carried over, and nobody has chosen it. */
  const applyLink = (/** @type {Link} */ link, chosen = true) => {
    const { step, code, change, ...selection } = link;
    if (code !== undefined) dispatch({ type: "code", open: code });
    if (Object.keys(selection).length) dispatch({ type: "select", selection, chosen });
    if (step !== undefined) dispatch({ type: "seek", step });
    if (change && canAsk(state())) dispatch({ type: "changesLinked", texts: change });
  };

  /**
   * @param {string} id
   * @param {{playing: boolean, visited: boolean, view?: string, insteadOf?: string, link?: Link, chosen?: boolean}} how `visited`: it was
   *   not started here just now; `link`: the step and selection to open; `view`: used if the link has none; `insteadOf`: the twin or
   *   beam search whose link led here; `chosen`: whether the link's head was chosen
   */
  const open = (id, how) => {
    const { playing, visited, view, insteadOf, link = {}, chosen } = how;
    stopWatching();
    const run = new Run(id, id === saved?.run ? saved : null);
    dispatch({ type: "opened", run, playing, view: link.view ?? view, focus: link.focus, insteadOf });
    applyLink(link.code === undefined ? {} : { code: link.code });
    const { head, rest } = placeOf(link);
    let waiting = Object.keys(rest).length > 0;
    let atOpening = null;
    const onOpen = (open) => {
      dispatch({ type: "settingsOfRun", open });
      onOpened();
      applyLink(link.change ? { ...head, change: link.change } : head, chosen);
      atOpening = state().selection;
      if (visited && !run.saved) onVisited(id);
    };
    /** The link no longer applies once the viewer has gone elsewhere. */
    const isWhereItOpened = () => {
      const now = state();
      const untouched = now.playing === playing && !now.following && (playing || now.step === 0);
      return untouched && ["query", "key"].every((name) => now.selection[name] === atOpening[name]);
    };
    const settle = () => {
      waiting &&= isWhereItOpened();
      if (!waiting) return;
      const there = run.steps.length > (link.step ?? 0) && run.positions > Math.max(link.query ?? 0, link.key ?? 0);
      if (!there && !run.close) return;
      waiting = false;
      applyLink(rest);
      // Playback starts at the link's step.
      if (playing && link.step !== undefined) dispatch({ type: "play" });
    };
    stopWatching = client.watch(id, -1, {
      onFrame(frame) {
        const study = frame.kind === "open" ? frame.data.study : null;
        if (study) {
          onStudy(study.of, { view: STUDY_VIEWS[study.kind], ...link }, id);
          return;
        }
        const rows = run.partialRows;
        run.push(frame);
        if (frame.kind === "layer" && !(run.awaited && run.partialRows > rows)) return;
        dispatch({ type: "grew" });
        if (frame.kind === "open") onOpen(frame.data);
        if (frame.kind === "step") onStep(run, Object.keys(head).length === 0);
        if (frame.kind === "close") onClose(run);
        settle();
      },
      onConnection: (connected) => {
        if (connected !== state().connected) dispatch({ type: "connection", connected });
      },
      onCaughtUp: (steps) => dispatch({ type: "caughtUp", steps }),
      onProblem(problem) {
        if (isHere(run)) onGone(id);
        else dispatch({ type: run.saved && run.steps.length ? "problem" : "unwatchable", problem });
      },
    });
  };

  /** `suggests`: the link names no head. */
  const onStep = (run, suggests) => {
    if (run.steps.length === 1) {
      const telling = tellingLook(run);
      dispatch({ type: "look", look: namedLook(run) ?? tellingLook(run, isWord) });
      if (telling && suggests) dispatch({ type: "suggest", layer: telling.layer, head: telling.head });
    }
    if (state().wanted && state().step < run.steps.length - 1) dispatch({ type: "show", step: state().step + 1 });
  };

  /** The cell that the author of the recording or of the shared session chose to show first. */
  const namedLook = (run) => {
    const named = run.saved?.open ?? state().examples.find(({ id }) => id === run.id)?.look;
    const { layer = null, head = null, query = null, key = null } = named ?? {};
    const isOfPrompt = query !== null && key !== null && key < query && query < run.promptLength;
    return isOfPrompt && layer !== null && head !== null ? { layer, head, query, key } : null;
  };

  const onClose = (run) => {
    const problem = reasonOfClose(run);
    if (!problem) return;
    dispatch({ type: "problem", problem });
    onFailed();
  };

  return {
    open,
    applyLink,
    dispose: () => stopWatching(),
  };
}

/** Splits a link: layer and head apply as soon as the run is open; step, query and key must exist in the log first. */
function placeOf(link) {
  const { layer, head, step, query, key } = link;
  const named = (place) => Object.fromEntries(Object.entries(place).filter(([, number]) => number !== undefined));
  return { head: named({ layer, head }), rest: named({ step, query, key }) };
}
