/** Creates store, client, player, address and keys, then renders the page. */

import { html } from "htm/preact";
import { render } from "preact";
import { isPicture } from "./embed/picture.js";
import { embedOfSearch } from "./embed/protocol.js";
import { loadedLater } from "./shared/log/loaded-later.js";
import { IN_SITE, ON_DISK } from "./shared/log/root.js";
import { createQueue, followShown } from "./shared/painting/queue.js";
import { bootstrapOf, jsonOf } from "./shared/state/bootstrap.js";
import { createPlayer } from "./shared/state/clock.js";
import { listenToKeys } from "./shared/state/listen-to-keys.js";
import { presentOfSearch } from "./shared/state/location.js";
import { createOwnRuns } from "./shared/state/own-runs.js";
import { clientOf, delay } from "./shared/state/page-client.js";
import { moves, nextPlayhead } from "./shared/state/player.js";
import { storageOr } from "./shared/state/storage.js";
import { firstTheme, rememberTheme, systemDark } from "./shared/state/theme.js";
import { followLit } from "./shared/ui/lit.js";
import { createEmbedHost } from "./stage/embed/host.js";
import { App } from "./stage/page/app.js";
import { openStageHelp, openStageSearch } from "./stage/page/dialogs.js";
import { followAddress, readAddress } from "./stage/state/address.js";
import { createController } from "./stage/state/controller.js";
import { KEYS } from "./stage/state/keyboard.js";
import { beginOf, rememberIntro, rememberOpened } from "./stage/state/newcomer.js";
import { listenToPrint } from "./stage/state/printing.js";
import { createStore } from "./stage/state/store.js";

const bootstrap = bootstrapOf();
const saved = bootstrap.session ?? null;
const inFile = saved?.file === true;
/** In a notebook's widget, the address of the embed: its frame has none. */
const inWidget = typeof bootstrap.embed === "string";
const embed = bootstrap.embed ? embedOfSearch(inWidget ? bootstrap.embed : window.location.search) : null;
const settings = storageOr(() => window.localStorage);
/** Whether this device can compute: "offer", "default", or "". */
const engine = /** @type {""|"offer"|"default"} */ (
  (!bootstrap.embed && document.documentElement.dataset.engine) || ""
);
const device = engine !== "" && {
  alone: engine === "default",
  open: async (parts) => (await import("./engine/page/open.js")).openEngine(parts),
};
const stillness = window.matchMedia("(prefers-reduced-motion: reduce)");
const inLesson = isPicture(window);
const narrow = window.matchMedia(bootstrap.embed || inLesson ? "(max-width: 1099px)" : "(max-width: 719px)");
const dark = systemDark();

const store = createStore({
  examples: bootstrap.examples,
  limits: bootstrap.limits,
  severalModels: bootstrap.several_models === true && !bootstrap.embed && !IN_SITE && !inFile,
  theme: firstTheme(settings, dark.matches, embed?.theme),
  present: !embed && presentOfSearch(window.location.search),
  sandboxed: window.origin === "null" && !ON_DISK,
  file: inFile,
  kernel: inWidget ? "silent" : null,
  inSite: IN_SITE,
  engine,
  embed: embed && { hide: embed.hide },
  speed: embed?.speed ?? 1,
  reducedMotion: stillness.matches,
});

const stranger = inFile || embed !== null || window.origin === "null";
// It tells the widget's script when it listens, so that no message is missed.
const source = inWidget
  ? loadedLater(async () =>
      (await import("./embed/kernel-source.js")).kernelSource({ window, glossary: jsonOf("glossary"), onKernel }),
    )
  : null;
const client = clientOf(
  { settings, saved, stranger, device: device || null, source },
  {
    own: createOwnRuns(
      settings,
      bootstrap.examples.map(({ id }) => id),
    ),
    onWaits: (waits) => store.dispatch({ type: "waits", waits }),
  },
);
/** The views ask again whether the model answers. */
function onKernel(kernel) {
  store.dispatch({ type: "kernel", kernel });
  controller.followModels();
}
const controller = createController({
  store,
  client,
  saved,
  storage: storageOr(() => window.sessionStorage),
  delay,
});

/** Attributes for the style sheets, set before anything is rendered. */
function setStyleAttributes({ theme, present, printing }) {
  const shown = { present, printing, embed: embed !== null, compact: narrow.matches };
  setAttributes({
    theme,
    ...Object.fromEntries(Object.entries(shown).map(([name, on]) => [name, on ? "true" : undefined])),
  });
}

/** Attributes for tests and embedding pages, set once the page shows that state. */
function setStateAttributes({ phase, step, run }) {
  setAttributes({ state: phase, step: String(step), run: run?.id });
}

function setAttributes(values) {
  const { dataset } = document.documentElement;
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete dataset[name];
    else if (dataset[name] !== value) dataset[name] = value;
  }
}

if (inLesson) setAttributes({ lesson: "true" });
setStyleAttributes(store.state());
narrow.addEventListener("change", () => setStyleAttributes(store.state()));
store.subscribe(setStyleAttributes);
let shownTheme = store.state().theme;
store.subscribe(({ theme }) => {
  if (theme === shownTheme) return;
  shownTheme = theme;
  // A lesson chooses the theme of its picture, and remembers the reader's.
  if (!embed && !inLesson) rememberTheme(settings, theme);
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
const dialogs = { openSearch: () => openStageSearch(store.dispatch), openHelp: () => openStageHelp(store.dispatch) };
listenToKeys(window, { controller, store, ...dialogs }, KEYS);
listenToPrint(window, store);
followLit(document, store);
const requestFrame = window.requestAnimationFrame.bind(window);
const cancelFrame = window.cancelAnimationFrame.bind(window);
createPlayer({ store, next: nextPlayhead, isMoving: moves, requestFrame, cancelFrame });
const later = createQueue({ requestFrame, now: () => performance.now() });
followShown(store, later, setStateAttributes);
/** A lesson, and a page inside another, neither show nor remember what was opened outside. */
const onOpened = (focus) => !inLesson && !embed && rememberOpened(focus, settings);
const parts = { dispatch: store.dispatch, controller, client, onOpened };
const link = embed?.link ?? readAddress(window.location, saved).link;
const view = link.view ?? saved?.open?.view;
/** Where one panel is shown at a time, a link with a view starts with the inspector. */
const opens = view && view !== "intro" ? "inspector" : "map";
const host = embed && createEmbedHost({ window, store, controller });
render(
  html`<${App} store=${store} later=${later} embed=${store.state().embed} host=${host} opens=${opens} ...${parts} />`,
  document.getElementById("page"),
);
setStateAttributes(store.state());
if (inLesson) {
  import("./stage/embed/stage-picture.js").then(({ joinLesson }) => joinLesson({ window, store, controller, client }));
}
if (embed) {
  // An embedded page never changes its address, so that it adds nothing to the history of the page around it.
  controller.beginEmbedded(embed.link, embed.autoplay && !stillness.matches);
} else {
  const address = readAddress(window.location, saved);
  const { run, link: start } = inLesson ? address : beginOf(address, settings);
  rememberIntro(store, settings);
  followAddress({ window, store, controller, saved });
  controller.begin(run ?? bootstrap.examples[0]?.id, start);
}
