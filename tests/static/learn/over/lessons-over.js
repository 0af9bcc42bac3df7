/** Run by test_same_lessons.py: computes lessons over runs. The input is JSON [{template, frames in base64, byHand}]; so is the output. */

import { text } from "node:stream/consumers";
import { factsOf } from "../../../../kvscope/static/learn/over/facts.js";
import { lessonOver } from "../../../../kvscope/static/learn/over/lesson.js";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";

const asked = JSON.parse(await text(process.stdin));
const lessons = asked.map(({ template, frames, byHand }) => {
  const [first, ...rest] = frames.map((frame) => decodeFrame(new Uint8Array(Buffer.from(frame, "base64"))));
  const run = new Run(first.run);
  for (const frame of [first, ...rest]) run.push(frame);
  return lessonOver(template, factsOf(run, byHand));
});
console.log(JSON.stringify(lessons));
