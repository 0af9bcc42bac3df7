/** Computes a lesson over a run of this device, which only the picture beside the lesson has: the server, or the site, knows nothing of it. */

import { PICTURE } from "../../embed/picture.js";
import { PROTOCOL } from "../../embed/protocol.js";
import { decodeFrame, FrameSplitter } from "../../shared/log/frames.js";
import { Run } from "../../shared/log/run.js";
import { factsOf } from "./facts.js";
import { lessonOver } from "./lesson.js";

const EXAMPLES = ["a", "b", "c"];

/**
 * @param {Object} given the lesson over its own recording
 * @param {string} id of the run
 * @param {{requestJson: (path: string) => Promise<any>, signal: AbortSignal}} parts
 * @returns {Promise<Object>} the lesson over the run; what it says of its recording stays, so that the picture stays loaded
 */
export async function lessonHere(given, id, { requestJson, signal }) {
  const [template, bytes] = await Promise.all([requestJson(`/api/lessons/${given.id}/template`), logOf(id, signal)]);
  const run = new Run(id);
  for (const payload of new FrameSplitter().push(bytes)) run.push(decodeFrame(payload));
  const examples = JSON.stringify(template).includes('"by_hand"') ? EXAMPLES : [];
  const answers = await Promise.all(examples.map((example) => requestJson(`/api/by-hand/${example}`)));
  const byHand = Object.fromEntries(examples.map((example, at) => [example, answers[at]]));
  const { along, run: recording, session, logged } = given;
  return { ...lessonOver(template, factsOf(run, byHand)), along, run: recording, session, logged, own: false };
}

/** @returns {Promise<Uint8Array>} the frames of a run that the picture shows */
function logOf(run, signal) {
  const picture = /** @type {HTMLIFrameElement|null} */ (document.querySelector(`iframe[name="${PICTURE}"]`));
  return new Promise((resolve) => {
    const onMessage = ({ source, data }) => {
      if (source !== picture?.contentWindow || data?.kvscope !== PROTOCOL) return;
      if (data.type === "log" && data.run === run) resolve(new Uint8Array(data.frames));
    };
    window.addEventListener("message", onMessage, { signal });
    picture?.contentWindow?.postMessage({ kvscope: PROTOCOL, type: "log", run }, "*");
  });
}
