/** What a learning system records of a lesson in a SCORM package (docs/scorm.md). */

import { msg } from "../../shared/words/msg.js";
import { runTimeOf } from "./run-time.js";

/** The most letters that a system keeps for a page. */
const MOST = { 1.2: 4096, 2004: 64_000 };
const SUSPENDED = "cmi.suspend_data";
const FULL = 100;
/** Without these values a lesson is neither completed nor resumed. */
const NEEDED = ["cmi.core.lesson_status", "cmi.completion_status", SUSPENDED];

/**
 * @typedef {import("../player/progress.js").Reached} Reached
 * @typedef {import("../player/progress.js").Progress} Progress
 */

/**
 * Returns the progress in a lesson, which the learning system around the page keeps. Without one, `own` keeps it, and each `write` says so.
 *
 * @param {{window: Window, version: import("./run-time.js").Version, lesson: Object, own: Progress, onDisk: boolean, now?: () => number}} parts
 *   `onDisk`: whether the page was opened from a disk; `now`: milliseconds
 * @returns {Progress}
 */
export function recordIn({ window, version, lesson, own, onDisk, now = () => performance.now() }) {
  const runTime = runTimeOf(window, version);
  if (!runTime) return alone(own, onDisk ? onADisk() : noSystem(version));
  if (!runTime.start()) return alone(own, refused(runTime.fault()));
  const began = now();
  const earlier = suspendedIn(runTime.get(SUSPENDED));
  const seen = new Set(earlier?.seen ?? []);
  window.addEventListener("pagehide", () => {
    runTime.set(timeOf(version, now() - began));
    runTime.commit();
    runTime.end();
  });
  // The browser gives back the page as it was left; the visit has ended.
  window.addEventListener("pageshow", ({ persisted }) => persisted && window.location.reload());
  return {
    read: () => earlier ?? undefined,
    write(reached) {
      seen.add(reached.step);
      const text = suspended({ ...reached, seen: [...seen] }, MOST[version]);
      const values = { ...valuesOf(version, resultOf(lesson, reached, seen)), [SUSPENDED]: text };
      const refusals = runTime.set({ ...values, ...timeOf(version, now() - began) });
      const lost = refusals.find(({ name }) => NEEDED.includes(name));
      if (!runTime.commit()) return refused(lost?.fault || runTime.fault());
      return lost ? refused(lost.fault) : null;
    },
  };
}

/** @returns {Progress} that of this device; every `write` says why nothing else keeps it */
function alone(own, why) {
  return {
    read: own.read,
    write(reached) {
      own.write(reached);
      return why;
    },
  };
}

const onADisk = () => msg`Opened from a disk: no learning system records this lesson. It works without one.`;
const noSystem = (version) =>
  msg`No learning system with SCORM ${version} is around this page: nothing is recorded. The lesson works without one.`;
const refused = (fault) =>
  fault
    ? msg`The learning system did not record your progress. It says: ${fault}`
    : msg`The learning system did not record your progress, and does not say why.`;

/**
 * @param {Object} lesson @param {Reached} reached @param {Set<number>} seen steps
 * @returns {{step: number, complete: boolean, share: number, score: number|null}} `complete`: every step was seen and every prediction answered
 *   or shown; `share`: of these, how many were; `score`: predictions whose last answer is right, in percent; null before the first one
 */
export function resultOf(lesson, { step, answered, given = {} }, seen) {
  const asked = lesson.steps.flatMap(({ predict }, at) => (predict ? [at] : []));
  const over = asked.filter((at) => answered.includes(at));
  const right = over.filter((at) => given[at]?.right);
  const all = lesson.steps.length + asked.length;
  const reached = lesson.steps.filter((_step, at) => seen.has(at)).length + over.length;
  const score = over.length ? Math.round((FULL * right.length) / asked.length) : null;
  return { step, complete: reached === all, share: reached / all, score };
}

/** @returns {Object<string, string>} the values of the data model. Suspended, so that a later visit gets them back, also after completion */
function valuesOf(version, { step, complete, share, score }) {
  const status = complete ? "completed" : "incomplete";
  const score12 = { "cmi.core.score.raw": `${score}`, "cmi.core.score.min": "0", "cmi.core.score.max": `${FULL}` };
  const score2004 = { "cmi.score.raw": `${score}`, "cmi.score.min": "0", "cmi.score.max": `${FULL}` };
  if (version === "1.2")
    return {
      "cmi.core.lesson_location": `${step + 1}`,
      "cmi.core.lesson_status": status,
      "cmi.core.exit": "suspend",
      ...(score === null ? {} : score12),
    };
  return {
    "cmi.location": `${step + 1}`,
    "cmi.completion_status": status,
    "cmi.progress_measure": share.toFixed(2),
    "cmi.exit": "suspend",
    ...(score === null ? {} : { ...score2004, "cmi.score.scaled": (score / FULL).toFixed(2) }),
  };
}

/** @returns {Object<string, string>} how long this visit has lasted: 0001:02:03.45 in SCORM 1.2, PT3723.45S in 2004 */
function timeOf(version, ms) {
  const seconds = (ms / 1000).toFixed(2);
  if (version === "2004") return { "cmi.session_time": `PT${seconds}S` };
  const two = (number) => `${Math.floor(number)}`.padStart(2, "0");
  const minutes = Math.floor(ms / 60_000);
  const rest = (ms / 1000 - minutes * 60).toFixed(2).padStart(5, "0");
  return { "cmi.core.session_time": `${two(minutes / 60).padStart(4, "0")}:${two(minutes % 60)}:${rest}` };
}

/** @returns {string} the progress as ASCII. If that is too long, it leaves out the words of the answers, and keeps whether they were right */
function suspended(reached, most) {
  const text = ascii(reached);
  if (text.length <= most) return text;
  const wordless = Object.entries(reached.given).map(([at, { right }]) => [at, { given: "", right }]);
  return ascii({ ...reached, given: Object.fromEntries(wordless) });
}

/** SCORM 1.2 promises no other letters. */
function ascii(value) {
  const escaped = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, escaped);
}

/** @returns {(Reached & {seen: number[]})|null} null for a first visit, and for a text that is not of this module */
function suspendedIn(text) {
  try {
    const reached = JSON.parse(text);
    return [reached.done, reached.answered, reached.seen].every(Array.isArray) ? reached : null;
  } catch {
    return null;
  }
}
