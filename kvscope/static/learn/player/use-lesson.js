/** The state of a lesson, synchronized with the address, the picture, this device's storage, and the page around it. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { isPicture } from "../../embed/picture.js";
import { PROTOCOL } from "../../embed/protocol.js";
import { isHere } from "../../shared/log/device.js";
import { fetchUnder } from "../../shared/log/root.js";
import { jsonOf } from "../../shared/state/bootstrap.js";
import { storeOf } from "../../shared/state/create-store.js";
import { msg } from "../../shared/words/msg.js";
import { lessonKey } from "./keys.js";
import { QUESTION } from "./predict.js";
import { answersOf, reachedIn, stepOfHash, stepReached } from "./progress.js";
import { followedRun, initialState, isAnswered, reduce, stepOf } from "./state.js";

/** Retries at growing intervals: the model may still be downloading. */
const RETRY_MS = 2000;
const LONGEST_MS = 15_000;
const LONGER = 1.2;

/**
 * @returns {{state: Object, dispatch: Function, glossary: Object, kept: string|null, go: (to: number) => void, next: () => void}} `kept`: what the
 *   reader must know about who keeps the progress; `next`: goes to the next step, or to the question that is still open
 */
export function useLesson({ given, progress, identity, framed, file }) {
  const store = useMemo(() => {
    const reached = progress.read();
    const index = stepOfHash(window.location.hash, given.steps.length) ?? stepReached(reached, given.steps.length);
    const earlier = { done: reached?.done ?? [], answers: answersOf(reached), asked: reached?.answered ?? [] };
    return storeOf({ ...initialState, lesson: given, index, ...earlier }, reduce);
  }, []);
  const [state, setState] = useState(store.state());
  const [glossary, setGlossary] = useState({});
  const [kept, setKept] = useState(/** @type {string|null} */ (null));
  const { dispatch } = store;
  const go = (to) => {
    dispatch({ type: "go", to });
    const hash = `#${store.state().index + 1}`;
    if (!framed && window.location.hash !== hash) window.history.pushState(null, "", hash);
  };

  const next = () => {
    const { index } = store.state();
    if (isAnswered(store.state(), index)) go(index + 1);
    else document.getElementById(QUESTION)?.focus();
  };

  useEffect(() => store.subscribe(setState), [store]);
  useEffect(() => {
    if (file) setGlossary(jsonOf("glossary"));
    else requestJson("/static/shared/words/glossary.json").then(setGlossary, () => {});
    // So that Back leads here again.
    if (!framed && !window.location.hash && state.index > 0)
      window.history.replaceState(null, "", `#${state.index + 1}`);
    const back = () => dispatch({ type: "go", to: stepOfHash(window.location.hash, given.steps.length) ?? 0 });
    window.addEventListener("popstate", back);
    const onKeyDown = (event) => lessonKey(event, { back: () => go(store.state().index - 1), next });
    window.addEventListener("keydown", onKeyDown);
    return () => {
      window.removeEventListener("popstate", back);
      window.removeEventListener("keydown", onKeyDown);
    };
  }, []);
  useEffect(() => setKept(progress.write(reachedIn(state))), [state.index, state.done, state.answers]);
  useEffect(() => tellAround(state, framed), [state.index, state.done, state.answers]);
  useEffect(() => {
    if (!isPicture(window)) return undefined;
    const joined = import("./in-room.js").then(({ joinRoom }) => joinRoom(window, store));
    return () => joined.then((leave) => leave());
  }, [store]);
  useFollowedRun(state, store, given, file ? null : identity);
  useEffect(() => {
    const step = state.shown && !state.shown.playing ? stepOf(state, state.shown) : null;
    if (step !== null) go(step);
  }, [state.shown?.step]);
  return { state, dispatch, glossary, kept, go, next };
}

/**
 * Computes the lesson over the run that the picture shows, once another run has ended; again while the engine still has to compute
 * some of its values.
 */
function useFollowedRun(state, store, given, identity) {
  const { shown } = state;
  const run = followedRun(shown, given.run, state.run);
  const pending = JSON.stringify(state.lesson.steps).includes('"pending":true');
  const [tried, setTried] = useState({ run: null, count: 0 });
  const tries = tried.run === run ? tried.count : 0;
  useEffect(() => {
    if (!identity || (run === state.run && !pending)) return undefined;
    const aborter = new AbortController();
    const { signal } = aborter;
    const elsewhere = (run) => {
      const query = run ? `?run=${encodeURIComponent(run)}` : "";
      return requestJson(`/api/lessons/${given.id}${query}`, { headers: identity, signal });
    };
    const here = async (run) => (await import("../over/here.js")).lessonHere(given, run, { requestJson, signal });
    const load = async () => {
      try {
        const lesson = isHere({ id: run }) ? await here(run) : await elsewhere(run);
        if (!aborter.signal.aborted) store.dispatch({ type: "lesson", lesson, run });
      } catch ({ name, message }) {
        if (name === "AbortError") return;
        store.dispatch({ type: "problem", problem: msg`The lesson could not be computed over this run: ${message}` });
      }
      setTried({ run, count: tries + 1 });
    };
    const timer = setTimeout(load, tries === 0 ? 0 : Math.min(RETRY_MS * LONGER ** (tries - 1), LONGEST_MS));
    return () => {
      aborter.abort();
      clearTimeout(timer);
    };
  }, [run, state.run, pending, tries]);
}

/** @returns {Promise<any>} the JSON of an answer. @throws {Error} with the server's message */
async function requestJson(path, options) {
  const response = await fetchUnder(path, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail ?? answer.title);
  return answer;
}

/** Reports the shown step, the answers and the tasks done to the page around an embedded lesson: numbers only. */
function tellAround({ lesson, index, answers, done }, framed) {
  if (!framed || window.parent === window) return;
  const event = { kvscope: PROTOCOL, type: "lesson", lesson: lesson.id, step: index, steps: lesson.steps.length };
  const answer = answers[index];
  window.parent.postMessage({ ...event, right: answer ? answer.right : null, done: done.length }, "*");
}
