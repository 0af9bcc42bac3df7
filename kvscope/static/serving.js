/** One engine serves several requests at once: `/serving`, a saved workload, and both inside other pages or in a file. */

import { mountOwnPage } from "./embed/own-page.js";
import { experimentOfSearch, hashOf, passOfHash, searchOf } from "./serving/address.js";
import { createServing } from "./serving/controller.js";
import { KEYS } from "./serving/keys.js";
import { Page } from "./serving/page/page.js";
import { initialState, isMoving, nextPass, reduce } from "./serving/state.js";
import { createQueue } from "./shared/painting/queue.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { createPlayer } from "./shared/state/clock.js";
import { storeOf } from "./shared/state/create-store.js";
import { keepAddress } from "./shared/state/keep-address.js";
import { listenToKeys } from "./shared/state/listen-to-keys.js";
import { runOfSearch } from "./shared/state/location.js";
import { clientOf, delay } from "./shared/state/page-client.js";
import { storageOr } from "./shared/state/storage.js";

const { framed = false, limits, session: saved = null, example = null, gpus = [] } = bootstrapOf();
const settings = storageOr(() => window.localStorage);
const store = storeOf(initialState, reduce);
const client = clientOf(
  { settings, saved, stranger: framed || saved?.file === true },
  { onWaits: (waits) => store.dispatch({ type: "waits", waits }) },
);
const requestFrame = window.requestAnimationFrame.bind(window);
const now = () => performance.now();
const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const controller = createServing({ store, client, delay, example, still, now });

const runOfAddress = () => saved?.run ?? runOfSearch(window.location.search);

/** The address of the saved session or of the workload in sight; the recorded workload has none of its own. */
function addressOf(state) {
  const { pathname, search } = window.location;
  return `${pathname}${saved ? search : searchOf(state, search)}${hashOf(state)}`;
}

const openExperiment = () => {
  const named = experimentOfSearch(window.location.search);
  store.dispatch({ type: "experiment", experiment: framed || saved ? null : named });
};

openExperiment();
controller.show(runOfAddress(), passOfHash(window.location.hash) ?? saved?.open?.step ?? null);
createPlayer({ store, requestFrame, cancelFrame: window.cancelAnimationFrame.bind(window), next: nextPass, isMoving });
listenToKeys(window, { store }, KEYS);
if (!framed) {
  keepAddress({
    ...{ window, store, addressOf, isMoving },
    runOf: ({ run }) => run,
    isNew: ({ run }) => run !== runOfAddress(),
    onMove() {
      openExperiment();
      const [run, pass] = [runOfAddress(), passOfHash(window.location.hash)];
      if (run !== store.state().run) controller.show(run, pass);
      else if (pass !== null) store.dispatch({ type: "go", to: pass });
    },
  });
}
if (!framed && !saved) controller.pollReadiness();
mountOwnPage(Page, {
  ...{ framed, settings },
  hasEnded: () => Boolean(store.state().log?.close) && store.state().waits === null,
  props: { store, later: createQueue({ requestFrame, now }), controller, client, limits, saved, gpus },
});
