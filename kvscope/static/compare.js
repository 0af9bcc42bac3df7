/** Two runs side by side: `/compare?a=<id>&b=<id>`. */

import { addressOf, placeOf, sidesOf } from "./compare/address.js";
import { KEYS } from "./compare/keys.js";
import { Page } from "./compare/page.js";
import { initialState, reduce } from "./compare/state.js";
import { createWatching } from "./compare/watching.js";
import { mountOwnPage } from "./embed/own-page.js";
import { createQueue } from "./shared/painting/queue.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { storeOf } from "./shared/state/create-store.js";
import { createDeleteTokens, OF_RUNS } from "./shared/state/delete-tokens.js";
import { keepAddress } from "./shared/state/keep-address.js";
import { listenToKeys } from "./shared/state/listen-to-keys.js";
import { createOwnRuns } from "./shared/state/own-runs.js";
import { clientOf } from "./shared/state/page-client.js";
import { storageOr } from "./shared/state/storage.js";

const { recordings, shipped } = bootstrapOf();
const settings = storageOr(() => window.localStorage);
const store = storeOf(initialState, reduce);
const own = createOwnRuns(settings, shipped);
const clientFor = (saved) => clientOf({ settings, saved, stranger: false }, { own });
const watching = createWatching({ store, clientFor });
const ownRuns = () => createDeleteTokens(settings, OF_RUNS).ids().reverse();

const addressed = () => sidesOf(window.location.search, recordings);
const pairOf = ({ a, b }) => `${a.id ?? ""} ${b.id ?? ""}`;

/** Shows the runs that the address names; a side keeps the run that it still names. */
function follow() {
  const ids = addressed();
  for (const side of ["a", "b"]) if (ids[side] !== store.state()[side].id) watching.show(side, ids[side]);
  store.dispatch({ type: "reset", place: placeOf(window.location.hash) });
}

follow();
listenToKeys(window, { store }, KEYS);
keepAddress({
  ...{ window, store },
  addressOf: (state) => `${window.location.pathname}${addressOf(state, window.location.search)}`,
  runOf: pairOf,
  isNew(state) {
    const before = addressed();
    return before.a !== state.a.id || before.b !== state.b.id;
  },
  isMoving: () => false,
  onMove: follow,
});
mountOwnPage(Page, {
  framed: false,
  settings,
  props: {
    ...{ store, watching, recordings, ownRuns, client: clientFor(null) },
    later: createQueue({ requestFrame: window.requestAnimationFrame.bind(window), now: () => performance.now() }),
  },
});
