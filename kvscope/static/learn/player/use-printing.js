/** Prints a lesson: the picture beside it shows each step in turn and sends what it shows; then the print dialog opens. */

import { useEffect, useRef, useState } from "preact/hooks";
import { PICTURE } from "../../embed/picture.js";
import { PROTOCOL } from "../../embed/protocol.js";
import { msg } from "../../shared/words/msg.js";

/** How long a page has to show its place and send its picture, in ms. */
const LONGEST_MS = 25_000;
/** Interval between two greetings to a page that may still be loading, in ms. */
const GREETING_MS = 250;

const IDLE = { at: null, pictures: {} };

/**
 * @param {(at: number) => {document?: string, problem?: string}} pictureOfStep what `pictureOf` returns for a step, or why it has no picture
 * @param {number} steps how many there are
 * @param {string|null} run the viewer's own run that the lesson is computed over; pictures of another one are dropped
 * @returns {{at: number|null, pictures: Object<number, Paper>, start: () => void, cancel: () => void}} `at`: the step that the picture has to
 *   show now; null: nothing is being prepared. `pictures`: by step; empty before they are prepared
 * @typedef {{url: string, width: number, height: number}|{problem: string}} Paper as in embed/paper.js
 */
export function usePrinting(pictureOfStep, steps, run) {
  const [state, setState] = useState(IDLE);
  const aborter = useRef(null);
  const cancel = () => aborter.current?.abort();

  const [ready, setReady] = useState(0);
  useEffect(() => {
    if (ready) decoded().then(() => window.print());
  }, [ready]);
  useEffect(() => {
    setState(IDLE);
    return cancel;
  }, [run]);

  const start = async () => {
    if (aborter.current) return;
    aborter.current = new AbortController();
    const { signal } = aborter.current;
    const pictures = {};
    const failed = new Map();
    for (let at = 0; at < steps && !signal.aborted; at++) {
      const { document, problem } = pictureOfStep(at);
      if (problem) pictures[at] = { problem };
      else if (failed.has(document)) pictures[at] = failed.get(document);
      else {
        setState({ at, pictures });
        pictures[at] = await requested(at, signal);
        // It would fail for the other steps too.
        if (pictures[at].silent) failed.set(document, pictures[at]);
      }
    }
    aborter.current = null;
    setState(signal.aborted ? IDLE : { at: null, pictures });
    if (!signal.aborted) setReady((count) => count + 1);
  };
  return { ...state, start, cancel };
}

/** Waits until the pictures of the handout can be drawn. */
function decoded() {
  const images = [...document.querySelectorAll(".lesson-handout img")];
  return Promise.allSettled(images.map((image) => /** @type {HTMLImageElement} */ (image).decode()));
}

/** @returns {Promise<Object>} what the page beside the lesson sends of a step; `silent`: it has not answered */
function requested(of, signal) {
  const send = (message) => window.frames[PICTURE]?.postMessage({ kvscope: PROTOCOL, ...message }, "*");
  return new Promise((resolve) => {
    let isGreeted = false;
    let isAsked = false;
    const greet = () => {
      isGreeted = true;
      if (!isAsked) send({ type: "hello" });
    };
    const end = (paper) => {
      window.removeEventListener("message", onMessage);
      signal.removeEventListener("abort", onAbort);
      clearInterval(greeting);
      clearTimeout(longest);
      resolve(paper);
    };
    const onMessage = ({ source, data }) => {
      if (source !== window.frames[PICTURE] || data?.kvscope !== PROTOCOL) return;
      if (data.type === "paper" && data.of === of) end(data);
      // Only now is the page there, and the player sends it to its place.
      if (data.type !== "picture" || !isGreeted || isAsked) return;
      isAsked = true;
      send({ type: "paper", of });
    };
    const onAbort = () => {
      send({ type: "paper", of: null });
      end({ problem: "" });
    };
    window.addEventListener("message", onMessage);
    signal.addEventListener("abort", onAbort);
    const greeting = setInterval(greet, GREETING_MS);
    const longest = setTimeout(() => end({ problem: msg`The page did not show it.`, silent: !isAsked }), LONGEST_MS);
  });
}
