/** Puts the page together: store, client, player, address, keys; then mounts it. */

import { html } from "htm/preact";
import { render } from "preact";
import { createEmbedHost } from "./embed/host.js";
import { embedOfSearch } from "./embed/protocol.js";
import { createQueue, followShown } from "./shared/painting/queue.js";
import { followAddress, readAddress } from "./shared/state/address.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { createPlayer } from "./shared/state/clock.js";
import { createController } from "./shared/state/controller.js";
import { KEYS } from "./shared/state/keyboard.js";
import { listenToKeys } from "./shared/state/listen-to-keys.js";
import { presentOfSearch } from "./shared/state/location.js";
import { beginOf, rememberIntro } from "./shared/state/newcomer.js";
import { createOwnRuns } from "./shared/state/own-runs.js";
import { clientOf, delay } from "./shared/state/page-client.js";
import { moves, nextPlayhead } from "./shared/state/player.js";
import { listenToPrint } from "./shared/state/printing.js";
import { storageOr } from "./shared/state/storage.js";
import { createStore } from "./shared/state/store.js";
import { firstTheme, rememberTheme, systemDark } from "./shared/state/theme.js";
import { App } from "./stage/page/app.js";

const bootstrap = bootstrapOf();
const saved = bootstrap.session ?? null;
const inFile = saved?.file === true;
const embed = bootstrap.embed ? embedOfSearch(window.location.search) : null;
const settings = storageOr(() => window.localStorage);
const stillness = window.matchMedia("(prefers-reduced-motion: reduce)");
const narrow = window.matchMedia(bootstrap.embed ? "(max-width: 1099px)" : "(max-width: 719px)");
const dark = systemDark();

const store = createStore({
  examples: bootstrap.examples,
  limits: bootstrap.limits,
  theme: firstTheme(settings, dark.matches, embed?.theme),
  present: !embed && presentOfSearch(window.location.search),
  sandboxed: window.origin === "null",
  file: inFile,
  embed: embed && { hide: embed.hide },
  speed: embed?.speed ?? 1,
  reducedMotion: stillness.matches,
});

const stranger = inFile || embed !== null || window.origin === "null";
const client = clientOf(
  { settings, saved, stranger },
  {
    own: createOwnRuns(
      settings,
      bootstrap.examples.map(({ id }) => id),
    ),
    onWaits: (waits) => store.dispatch({ type: "waits", waits }),
  },
);
const controller = createController({
  store,
  client,
  saved,
  storage: storageOr(() => window.sessionStorage),
  delay,
});

/** What style sheets follow: it is there before anything is rendered. */
function dress({ theme, present, printing }) {
  const shown = { present, printing, embed: embed !== null, compact: narrow.matches };
  mirror({ theme, ...Object.fromEntries(Object.entries(shown).map(([name, on]) => [name, on ? "true" : undefined])) });
}

/** Tests and hosts read off the root element what the page shows: it says so once it does. */
function announce({ phase, step, run }) {
  mirror({ state: phase, step: String(step), run: run?.id });
}

function mirror(values) {
  const { dataset } = document.documentElement;
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete dataset[name];
    else if (dataset[name] !== value) dataset[name] = value;
  }
}

dress(store.state());
narrow.addEventListener("change", () => dress(store.state()));
store.subscribe(dress);
let shownTheme = store.state().theme;
store.subscribe(({ theme }) => {
  if (theme === shownTheme) return;
  shownTheme = theme;
  if (!embed) rememberTheme(settings, theme);
});
if (embed?.theme === "auto") {
  dark.addEventListener("change", () =>
    store.dispatch({ type: "theme", theme: firstTheme(settings, dark.matches, "auto") }),
  );
}
stillness.addEventListener("change", () => store.dispatch({ type: "motion", reducedMotion: stillness.matches }));
for (const input of ["pointerdown", "keydown"]) {
  window.addEventListener(input, () => store.dispatch({ type: "fastForward" }), { capture: true });
}
listenToKeys(window, { controller, store }, KEYS);
listenToPrint(window, store);
const requestFrame = window.requestAnimationFrame.bind(window);
const cancelFrame = window.cancelAnimationFrame.bind(window);
createPlayer({ store, next: nextPlayhead, isMoving: moves, requestFrame, cancelFrame });
const later = createQueue({ requestFrame, now: () => performance.now() });
followShown(store, later, announce);
const parts = { dispatch: store.dispatch, controller, client };
const asked = embed?.link ?? readAddress(window.location, saved).link;
const view = asked.view ?? saved?.open?.view;
/** Where one panel is shown at a time, what a link is about comes first. */
const opens = view && view !== "intro" ? "inspector" : "map";
const host = embed && createEmbedHost({ window, store, controller });
render(
  html`<${App} store=${store} later=${later} embed=${store.state().embed} host=${host} opens=${opens} ...${parts} />`,
  document.getElementById("page"),
);
announce(store.state());
if (embed) {
  // Its address stays what the page around wrote: no step through a run is one in that page's history.
  controller.beginEmbedded(embed.link, embed.autoplay && !stillness.matches);
} else {
  const { run, link } = beginOf(readAddress(window.location, saved), settings);
  rememberIntro(store, settings);
  followAddress({ window, store, controller, saved });
  controller.begin(run ?? bootstrap.examples[0]?.id, link);
}
