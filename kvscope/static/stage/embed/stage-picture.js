/** The Stage as the picture of a lesson: reports its state for the lesson's tasks, and shows what the lesson requests. */

import { createPaper } from "../../embed/on-paper.js";
import { createPicture } from "../../embed/picture.js";
import { commandOf } from "../../embed/protocol.js";
import { createSight } from "../../embed/sight.js";
import { isHere } from "../../shared/log/device.js";
import { namesUnder } from "../../shared/state/lit.js";
import { withNamed } from "../facts/parts.js";
import { addressOf } from "../state/address.js";
import { bringIntoSight } from "../ui/open-view.js";

/** @returns {Object|null} what the Stage shows, as plain values; null while it shows no run */
export function stageShows(state) {
  const { run, step, selection, playing, whatIf, hover, ended } = state;
  if (!run?.open || !run.steps.length) return null;
  const { sampling, parent } = run.open;
  const has = (name) => ended.some(({ run: of, experiment }) => of === run.id && experiment === name);
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
/** What the inspector shows of a run's step. */
const OF_VIEW = ["view", "layer", "head", "query", "key"];

/** A step that names no query and key shows the newest row, whatever was shown before. */
const NOTHING_LOCKED = { query: null, key: null };

/** @param {{window: Window, store: Object, controller: Object, client: Object}} parts */
export function joinLesson({ window, store, controller, client }) {
  const sight = createSight(window);
  let requested = null;
  let isNewView = false;

  /** Shows the requested place, once the log has its step. */
  const show = () => {
    const { run } = store.state();
    if (!requested || !run?.steps.length || !(run.close || run.steps.length > (requested.step ?? 0))) return;
    const link = { ...NOTHING_LOCKED, ...requested };
    requested = null;
    isNewView = link.focus === undefined && link.view !== undefined && link.view !== store.state().selection.view;
    const { selection } = store.state();
    const isElsewhere = OF_VIEW.some((name) => name in link && link[name] !== selection[name]);
    controller.applyLink(link);
    // Where one panel is shown at a time, the viewer may have another in sight.
    const view = window.document.getElementById(VIEW_PANEL);
    if (link.view && isElsewhere && view) bringIntoSight(view);
  };

  /** Opens what is folded. Of a view whose address names no parts, the lit ones are shown. */
  const openNamed = (names) => {
    const { view, focus } = store.state().selection;
    const named = focus && withNamed({ view, focus: isNewView && names.length > 0 ? [] : focus }, names);
    isNewView = false;
    if (named?.length) store.dispatch({ type: "select", selection: { focus: named } });
  };

  const picture = createPicture({
    window,
    read: () => stageShows(store.state()),
    commands: {
      goto(data) {
        requested = /** @type {any} */ (commandOf(data)).link;
        // A what-if of an earlier step of the lesson does not apply here.
        if (store.state().whatIf) store.dispatch({ type: "whatIf", patch: null });
        show();
      },
      visit: ({ run }) => controller.visit(run),
      /** Sends the log of a run that only this page has: the lesson is computed over it. */
      async log({ run }) {
        if (isHere({ id: run })) picture.send({ type: "log", run, frames: await client.log(run) });
      },
      paper: createPaper(window, (message) => picture.send(message)),
      play: () => controller.play(),
      pause: () => controller.pause(),
      lit({ names }) {
        store.dispatch({ type: "lit", names });
        openNamed(names);
        // The map has names too, but a step talks about the view beside it.
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
