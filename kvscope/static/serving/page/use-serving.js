/** The form of the page of serving, and the actions of the page. */

import { useEffect, useRef, useState } from "preact/hooks";
import { mostStates } from "../../shared/log/limits.js";
import { msg } from "../../shared/words/msg.js";
import { bodyOf } from "../experiments.js";
import { experimentOf } from "../results.js";
import { FIRST, fieldsOf, parsed, problemOf, withField, withRequest } from "../workload-form.js";

/** Layers of the default model, until the server has named its model. */
const USUAL_LAYERS = 30;
/** Enough for an answer of one or two sentences. */
const OWN_TOKENS = 24;

/**
 * @param {{state: import("../state.js").State, client: Object, limits: import("../../shared/log/limits.js").Limits, show:
 *   (run: string) => void}} options
 *   `state`: of the store; `show`: brings a workload into sight
 */
export function useServing({ state, client, limits, show }) {
  const { run, log, waits } = state;
  const ready = state.readiness.state === "ready";
  const layers = state.readiness.model?.layers ?? log?.open?.model.layers ?? USUAL_LAYERS;
  const [fields, setFields] = useState(FIRST);
  const [problem, setProblem] = useState(null);
  const [held, setHeld] = useState(null);
  const [starting, setStarting] = useState(false);
  const [tries, setTries] = useState({});
  const [own, setOwn] = useState({ text: "", problem: null, joined: null });
  const started = useRef(new Set());

  // The form takes over the requests of a workload that a link opened.
  const opened = log?.study && run ? log.id : null;
  useEffect(() => {
    if (!opened || started.current.has(opened) || experimentOf(log.study)?.details) return;
    if (log.study.requests.some(({ messages }) => messages)) return;
    if (log.study.requests.length > mostStates(limits)) return;
    setFields(fieldsOf(log.study, fields));
  }, [opened, log?.study?.requests.length]);

  // The card of an experiment keeps its result while another log is in sight.
  const experiment = log?.study && run ? (experimentOf(log.study)?.id ?? null) : null;
  useEffect(() => {
    if (experiment) setTries((all) => ({ ...all, [experiment]: log.id }));
  }, [opened, experiment]);

  /** `experiment`: the one whose card shows a refusal, because its requests are not those of the form */
  const post = async (body, experiment = null) => {
    setProblem(null);
    setStarting(true);
    try {
      const { id } = await client.workload(body);
      started.current.add(id);
      show(id);
      setStarting(false);
      return id;
    } catch (refusal) {
      setProblem(experiment ? { field: "", text: refusal.detail || refusal.message, experiment } : problemOf(refusal));
    }
    setStarting(false);
    return null;
  };
  useEffect(() => {
    if (!ready || !held) return;
    setHeld(null);
    start(held);
  }, [ready, held]);

  /**
   * @param {{make: (layers: number) => Object, question: Object|null, experiment: string|null}} wanted `make` builds the request
   *   body; `question` is the viewer’s own request, which joins once the workload has started
   * @returns {Promise<boolean>} whether it was accepted
   */
  const start = async ({ make, question, experiment: own }) => {
    const id = await post(make(layers), own);
    if (id && question) await join(id, question);
    return id !== null;
  };
  /**
   * @param {(posted: import("../experiments.js").Posted, layers: number) => Object} bodyFor builds the request body from the
   *   form, for a model with `layers` layers
   * @param {{question?: Object|null, experiment?: string|null}} [more] as of `start`
   * @returns {Promise<boolean>} whether it was accepted, or waits for the model
   */
  const submit = async (bodyFor, { question = null, experiment: own = null } = {}) => {
    const read = parsed(fields, limits);
    if ("problem" in read) {
      setProblem(read.problem);
      return false;
    }
    const wanted = { make: (count) => bodyFor(read, count), question, experiment: own };
    if (ready) return start(wanted);
    setHeld(wanted);
    return true;
  };
  const runFields = (question = null) =>
    submit(({ system, requests, settings }) => ({ system, requests, rounds: [settings] }), { question });
  /** The typed text stays until the request has joined. */
  const join = async (id, question) => {
    try {
      const { request } = await client.join(id, question);
      setOwn(({ text }) => ({
        text: text === question.prompt ? "" : text,
        problem: null,
        joined: { run: id, request },
      }));
    } catch (refusal) {
      const queued =
        refusal.status === 404 ? msg`That workload is still in the queue. Send your prompt when it has started.` : null;
      setOwn((before) => ({ ...before, problem: queued ?? (refusal.detail || refusal.message) }));
    }
  };
  const sendOwn = async (live) => {
    const prompt = own.text;
    if (prompt.trim() === "") return setOwn({ ...own, problem: msg`Type a prompt first.` });
    const question = { prompt, max_new_tokens: OWN_TOKENS };
    return live ? join(run, question) : runFields(question);
  };
  const change = (next) => {
    setProblem(null);
    setFields(next);
  };
  const actions = {
    put: (field, value) => change((now) => withField(now, field, value, limits, layers)),
    putRequest: (at, name, text) => change((now) => withRequest(now, at, name, text)),
    take: (preset) => change(preset.fields()),
    run: () => runFields(),
    putOwn: (text) => setOwn((before) => ({ ...before, text, problem: null })),
    sendOwn,
    retry: (number) => {
      const { prompt, max_new_tokens } = log.study.requests[number];
      return join(run, { prompt, max_new_tokens, retry_of: number });
    },
    cancel: (number) =>
      client
        .leave(run, number)
        .catch((refusal) => setOwn((before) => ({ ...before, problem: refusal.detail || refusal.message }))),
    tryOut: (tried, chosen) =>
      submit((posted, count) => bodyOf(tried, posted, count, chosen), { experiment: chosen.file ? tried.id : null }),
    show,
    stop: () => client.control(run, "stop").catch((refusal) => setProblem(problemOf(refusal))),
    letGo: () => setHeld(null),
    leaveLine: () => client.remove(waits.id),
  };
  return {
    ...{ fields, own, problem, held, starting, tries, layers, actions },
    mine: run !== null && started.current.has(run),
  };
}
