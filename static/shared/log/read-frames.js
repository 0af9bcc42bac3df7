/** Frames out of an answer that streams them. */

import { decodeFrame, FrameSplitter } from "./frames.js";
import { nextTask } from "./next-task.js";

/** How long stored frames are read without a pause, in ms. */
const READING_MS = 8;

/** Hands on the frames of a stream as they arrive: a long run comes in hundreds at once, and the page is to live on. */
export async function readFrames(response, onFrame) {
  const splitter = new FrameSplitter();
  const reader = response.body.getReader();
  let end = performance.now() + READING_MS;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const payload of splitter.push(value)) {
      onFrame(decodeFrame(payload));
      if (performance.now() < end) continue;
      await nextTask();
      end = performance.now() + READING_MS;
    }
  }
}
