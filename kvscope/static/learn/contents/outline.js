/** The parts that group the lessons, and the progress of this device in them. Pure. */

import { msg } from "../../shared/words/msg.js";

/** Parts, in order. `from`: how the name of a part's first lesson begins; its last lesson is the one before the next part. */
const PARTS = [
  { from: "01", name: msg`The model`, about: msg`Text goes in, one token comes out` },
  { from: "04", name: msg`Inside one layer`, about: msg`How tokens read each other` },
  { from: "08", name: msg`From vector to token`, about: msg`Scores, and a choice` },
  { from: "09", name: msg`The loop`, about: msg`One token after another` },
  { from: "10", name: msg`The cache`, about: msg`What is kept, and why it is exact` },
  { from: "12", name: msg`Two phases`, about: msg`The prompt at once, the answer one by one` },
  { from: "13", name: msg`Memory`, about: msg`How many bytes, and how to need fewer` },
  { from: "18", name: msg`Serving`, about: msg`Many people, one model` },
];

/** Lessons that do not ship (`--lessons`). */
const ADDED = { from: "", name: msg`Added lessons`, about: msg`Written for this server` };

/** @param {{id: string, own: boolean}[]} lessons in their order @returns parts that have lessons, each with its `lessons` */
export function inParts(lessons) {
  const parts = PARTS.map((part) => ({ ...part, lessons: [] }));
  const added = { ...ADDED, lessons: lessons.filter(({ own }) => own) };
  for (const lesson of lessons.filter(({ own }) => !own)) {
    (parts.findLast(({ from }) => from <= lesson.id) ?? parts[0]).lessons.push(lesson);
  }
  return [...parts, added].filter((part) => part.lessons.length > 0);
}

/** @returns {number} the last step reached, from 1; 0 for a lesson not begun */
export function stepOf({ id, steps }, progress) {
  return progress[id] ? Math.min(progress[id].step + 1, steps) : 0;
}

/**
 * @param {Object} progress by lesson, the last visited one last
 * @returns {{lesson: Object, step: number}|null} where to go on: the lesson visited last, with the step reached from 1; if that is read, the first
 *   one that is not, or the first of all. null without lessons
 */
export function whereNow(lessons, progress) {
  const [latest] = Object.keys(progress).slice(-1);
  const isOpen = (lesson) => stepOf(lesson, progress) < lesson.steps;
  const lesson = lessons.find(({ id }) => id === latest);
  const next = lesson && isOpen(lesson) ? lesson : (lessons.find(isOpen) ?? lessons[0]);
  return next ? { lesson: next, step: isOpen(next) ? stepOf(next, progress) : 0 } : null;
}

/** @returns {{read: number, minutes: number}} lessons read to the last step, and the minutes of the others */
export function howFar(lessons, progress) {
  const ahead = lessons.filter((lesson) => stepOf(lesson, progress) < lesson.steps);
  return { read: lessons.length - ahead.length, minutes: ahead.reduce((sum, { minutes }) => sum + minutes, 0) };
}
