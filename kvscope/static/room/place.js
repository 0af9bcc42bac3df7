/** What a room's presenter sends of the shown page, and what brings a follower's page there. Pure. */

import { PROPERTIES } from "../shared/state/location.js";

/**
 * What a frame shows. `address`: path, search and hash, from the server's root. `stage`: what the Stage reports; `lesson`: what a lesson reports.
 *
 * @typedef {{address: string, stage: {run: string, step: number, steps: number, ended: boolean, playing: boolean}|null,
 *   lesson: {within: string|null, own: boolean, playing: boolean, answered: boolean, held: boolean, question: Object|null}|null}} Shown
 * @typedef {{address: string, within: string|null, playing: boolean, answered: boolean}} Place of a room, as the server stores it
 */

/** How often the steps of a run that plays are sent, in ms: the followers' pages play by themselves. */
const PLAYING_MS = 1000;
/** How many steps apart two pages may play. */
const APART = 1;

/** @returns {Place} what the presenter shows */
export function placeOf({ address, stage, lesson }) {
  const playing = Boolean(stage?.playing);
  return { address, within: lesson?.within ?? null, playing, answered: Boolean(lesson?.answered && lesson.question) };
}

/** @returns {boolean} */
export function isSamePlace(a, b) {
  return Boolean(a && b) && ["address", "within", "playing", "answered"].every((name) => a[name] === b[name]);
}

/**
 * @param {Shown} shown
 * @param {Place} sent the last place that was sent
 * @param {number} since ms since then
 * @returns {number} after how many ms to send what is shown: at once, but steps during playback once a second
 */
export function waitBefore(shown, sent, since) {
  const place = placeOf(shown);
  const plays = place.playing || Boolean(shown.lesson?.playing);
  const onlyStep = ["address", "within"].every((name) => withoutStep(place[name]) === withoutStep(sent[name]));
  const calm = plays && onlyStep && place.playing === sent.playing && place.answered === sent.answered;
  return calm ? Math.max(0, PLAYING_MS - since) : 0;
}

/** Names in the hash of an address that gives rights to whoever has it. */
const RIGHTS = ["token", "secret"];

/** @returns {boolean} whether a room may show an address of this server: not another room, and none that gives rights */
export function mayShow(address) {
  if (!URL.canParse(address, "http://room")) return false;
  const { pathname, hash } = new URL(address, "http://room");
  // A path with dots or two leading slashes leads elsewhere than it says.
  if (/^[^?#]*/.exec(address)?.[0] !== pathname) return false;
  return !isOfRoom(pathname) && RIGHTS.every((name) => !paramsOf(hash).has(name));
}

function isOfRoom(pathname) {
  try {
    return /^\/room(\/|$)/.test(decodeURIComponent(pathname));
  } catch {
    return true; // No page has such a path.
  }
}

/** @param {Place} place @returns {boolean} */
export function mayShowPlace({ address, within }) {
  return mayShow(address) && (within === null || mayShow(within));
}

/**
 * @param {Place} place of the presenter
 * @param {Shown|null} shown what the follower's frame shows; null: nothing yet
 * @returns {{open?: string, move?: string, send?: Object, wait?: boolean}[]} what brings the frame there: another document, another hash
 *   of the same document, messages to the page (embed/picture.js), or the page itself, which is still loading; none: it is there
 */
export function waysTo(place, shown) {
  if (!mayShowPlace(place)) return [];
  if (!shown) return [{ open: place.address }];
  const [there, here] = [partsOf(place.address), partsOf(shown.address)];
  const alike = there.path === here.path && there.search === here.search;
  if (shown.stage && (there.path === "/" || there.path === here.path))
    return onStage(place, shown.stage, { there, here });
  if (!alike) return [{ open: place.address }];
  if (isStagePath(there.path)) return [{ wait: true }];
  if (there.hash !== here.hash) return [{ move: place.address }];
  return place.within || place.answered ? inLesson(place, shown.lesson) : [];
}

function onStage(place, stage, { there, here }) {
  const run = there.path === "/" ? new URLSearchParams(there.search).get("run") : null;
  const isOther = run !== null && run !== stage.run;
  /** @type {Object[]} */
  const ways = isOther ? [{ type: "visit", run }] : [];
  const near = place.playing && stage.playing && Math.abs((stepOf(there.hash) ?? 0) - stage.step) <= APART;
  const bare = near ? withoutStep : (text) => text;
  if (isOther || (there.hash && selectionOf(bare(there.hash)) !== selectionOf(bare(here.hash))))
    ways.push({ type: "goto", ...wholePlace(there.hash) });
  // Playing at the end of a run would begin it again.
  const isOver = stage.ended && stage.step === stage.steps - 1;
  if (isOther || (place.playing !== stage.playing && !(place.playing && isOver)))
    ways.push({ type: place.playing ? "play" : "pause" });
  return ways.map((send) => ({ send }));
}

/** Whoever shows the answer returns to the picture that explains it, so a link in the prose comes after that. */
function inLesson(place, lesson) {
  if (!lesson) return [{ wait: true }];
  const { within, answered, question } = lesson;
  if (place.answered && question && !answered) return [{ send: { type: "reveal" } }];
  if (!place.within) return [];
  if (!within) return [{ wait: true }];
  if (sameWithin(place.within, within)) return [];
  const { path, search, hash } = partsOf(place.within);
  const to = hash ? `#${new URLSearchParams(/** @type {any} */ (wholePlace(hash)))}` : "";
  return [{ send: { type: "within", address: isStagePath(path) ? `${path}${search}${to}` : place.within } }];
}

function sameWithin(one, other) {
  const [a, b] = [partsOf(one), partsOf(other)];
  if (isStagePath(a.path) && isStagePath(b.path)) return selectionOf(a.hash) === selectionOf(b.hash);
  return one === other;
}

/** @returns {boolean} whether a path is of the Stage: with a run, or with a saved session */
function isStagePath(path) {
  return path === "/" || path.startsWith("/s/");
}

/** @returns {{path: string, search: string, hash: string}} of an address from the server's root */
function partsOf(address) {
  const { pathname, search, hash } = new URL(address, "http://room");
  return { path: pathname, search, hash: hash === "#" ? "" : hash };
}

const paramsOf = (hash) => new URLSearchParams(hash.replace(/^#/, ""));

function stepOf(hash) {
  const step = paramsOf(hash).get("step");
  return step === null ? null : Number(step);
}

/** @returns {string|null} an address without the step in its hash */
export function withoutStep(address) {
  return address?.replace(/([#&])step=\d+&?/, "$1") ?? null;
}

/** @returns {string} the part of a hash that a message can set, as text to compare */
function selectionOf(hash) {
  const params = paramsOf(hash);
  return JSON.stringify(Object.keys(PROPERTIES).map((name) => params.get(name)));
}

/** @returns {Object<string, string>} the place in a hash; what the hash leaves out is closed, not as it was */
function wholePlace(hash) {
  return { focus: "", code: "0", ...Object.fromEntries(paramsOf(hash)) };
}
