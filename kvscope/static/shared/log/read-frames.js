/** Reads frames from a streamed response. */

import { decodeFrame, FrameSplitter } from "./frames.js";
import { nextTask } from "./next-task.js";

/** The longest time to read stored frames without a pause, in ms. */
const READING_MS = 8;

/** Passes on the frames of a response as they arrive. It pauses between them, because a long run has hundreds and the page must stay responsive. */
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
