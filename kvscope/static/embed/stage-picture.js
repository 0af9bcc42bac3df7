/** The Stage as the picture of a lesson: its state as the lesson's tasks may ask for it, and what a lesson may make it show. */

import { namesUnder } from "../shared/state/lit.js";
import { addressOf } from "../stage/state/address.js";
import { createPicture } from "./picture.js";
import { commandOf } from "./protocol.js";
import { createSight } from "./sight.js";

/** @returns {Object|null} what the Stage shows, as plain values; null while it shows no run */
export function stageShows(state) {
  const { run, step, selection, playing, whatIf, hover, ended } = state;
  if (!run?.open || !run.steps.length) return null;
  const { sampling, parent } = run.open;
  const has = (wanted) => ended.some(({ run: of, experiment }) => of === run.id && experiment === wanted);
  const { layer, head, query, key, view } = selection;
  return {
    page: "stage",
    address: addressOf(state),
    ...{ run: run.id, ended: Boolean(run.close), steps: run.steps.length, step, playing },
    ...{ layer, head, query, key, view },
    ...(whatIf ?? sampling),
    branched_at: parent?.position ?? null,
    prompt: run.open.prompt,
    positions: run.positions,
    ...{ without_cache: has("none"), cache_cleared: has("forgotten"), beam_search: has("beam") },
    lit: namesUnder(state),
    hover: hover && { layer: hover.layer, head: hover.head, query: hover.query, key: hover.key },
  };
}

const VIEW_PANEL = "panel-inspector";

/** A step that names no query and key shows the newest row, whatever was shown before. */
const NOTHING_LOCKED = { query: null, key: null };

/** @param {{window: Window, store: Object, controller: Object}} parts */
export function joinLesson({ window, store, controller }) {
  document.documentElement.dataset.lesson = "true";
  const sight = createSight(window);
  let wanted = null;

  /** Shows what the lesson asked for, once the log has that step. */
  const show = () => {
    const { run } = store.state();
    if (!wanted || !run?.steps.length || !(run.close || run.steps.length > (wanted.step ?? 0))) return;
    const link = { ...NOTHING_LOCKED, ...wanted };
    wanted = null;
    controller.applyLink(link);
  };

  const picture = createPicture({
    window,
    read: () => stageShows(store.state()),
    commands: {
      goto(data) {
        wanted = /** @type {any} */ (commandOf(data)).link;
        // What was tried in an earlier step is not this one's.
        if (store.state().whatIf) store.dispatch({ type: "whatIf", patch: null });
        show();
      },
      play: () => controller.play(),
      pause: () => controller.pause(),
      lit({ names }) {
        store.dispatch({ type: "lit", names });
        // The map has names too, but the view beside it is what a step talks about.
        const view = window.document.getElementById(VIEW_PANEL);
        if (view) sight.show(view, names);
      },
      hover: ({ place }) => store.dispatch({ type: "hover", hover: place && { ...store.state().selection, ...place } }),
      theme: ({ theme }) => store.dispatch({ type: "theme", theme }),
    },
  });
  store.subscribe(() => {
    show();
    picture.tell();
  });
  picture.tell();
}
