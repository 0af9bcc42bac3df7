/** A room: `/room` to open or join one, `/room/<code>` the page that its presenter shows. */

import { html } from "htm/preact";
import { render } from "preact";
import { createApi } from "./room/api.js";
import { createController } from "./room/controller.js";
import { createFrame } from "./room/frame.js";
import { createHistograms } from "./room/histograms.js";
import { KEYS } from "./room/keys.js";
import { Page } from "./room/page.js";
import { createSecrets, secretInAddress } from "./room/secrets.js";
import { initialState, reduce } from "./room/state.js";
import { followPresence } from "./shared/log/presence.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { storeOf } from "./shared/state/create-store.js";
import { identityOf, visitorOf } from "./shared/state/identity.js";
import { listenToKeys } from "./shared/state/listen-to-keys.js";
import { clientOf, connect, delay } from "./shared/state/page-client.js";
import { storageOr } from "./shared/state/storage.js";

const { code, limits } = bootstrapOf();
const settings = storageOr(() => window.localStorage);
const identity = identityOf(settings, false);
const secrets = createSecrets(settings, Date.now);
const ofTab = storageOr(() => window.sessionStorage);
const histograms = createHistograms(ofTab, code);
const store = storeOf({ ...initialState, limits, revealed: histograms.all() }, reduce);
store.subscribe(({ revealed }) => histograms.keep(revealed));
// Whoever answers has another id than the client, and another in each tab: nobody can tell whose answer it is.
const voter = visitorOf(ofTab, () => crypto.getRandomValues(new Uint8Array(16)));

const api = createApi(identity);
const frame = createFrame({
  window,
  onShown: (shown) => controller.onShown(shown),
  onTouch: () => controller.onTouch(),
  onDocument: (document) => listenToKeys(document, { controller, store }, KEYS),
});
const controller = createController({
  ...{ store, api, frame, secrets, connect, voter, delay },
  client: identity["X-KVScope-Client"],
  presence: (listener) => followPresence(window, listener),
  now: () => performance.now(),
});

listenToKeys(window, { controller, store }, KEYS);
if (code) {
  controller.enter(code, secretInAddress(window));
  // The link to present may be opened in the tab that follows.
  window.addEventListener("hashchange", () => {
    const secret = secretInAddress(window);
    if (secret) controller.present(secret);
  });
}
render(
  html`<${Page} store=${store} controller=${controller} frame=${frame} open=${api.open} secrets=${secrets} settings=${settings} client=${() => clientOf({ settings, saved: null, stranger: false })} />`,
  document.getElementById("page"),
);
