/** The page's side of the HTTP and Socket.IO contract. */

import { msg } from "../words/msg.js";
import { decodeFrame, decodeSafetensors } from "./frames.js";
import { Problem, problemOf } from "./problem.js";
import { readFrames } from "./read-frames.js";
import { createStored } from "./stored.js";
import { watch } from "./watch.js";

/** How often a run that stands in line is asked for, in ms. */
const LINE_MS = 1000;

/**
 * @param {Object} parts
 * @param {Function} parts.fetch
 * @param {Function} [parts.upload] sends a file, as upload.js does
 * @param {() => Object} parts.connect gives a Socket.IO client socket when first needed
 * @param {{id: string, run: string, values?: Object|null}|null} [parts.saved] the saved session that has a run's log: all
 *   about that run is read from there, and over HTTP alone, since it does not grow; exact values that are stored with it are
 *   not asked of a model
 * @param {{add: (run: string, made: string) => void, besides: (run: string) => string[]}|null} [parts.own] the runs that
 *   only who made them is told of (state/own-runs.js)
 * @param {{add: Function, of: Function, forget: Function}|null} [parts.tokens] of the runs that this device started
 * @param {{add: Function, of: Function, forget: Function}|null} [parts.sharings] the same, of the sessions that it shared
 * @param {(waits: {id: string, place: number, estimate_s: number|null}|null) => void} [parts.onWaits] hears where a run that
 *   is being started stands in line, and null once it has begun or will not
 * @param {(ms: number) => Promise<void>} parts.delay
 * @param {() => Object<string, string>} [parts.identity] headers that say who asks, sent with every request
 */
export function createClient({
  fetch,
  upload = null,
  connect,
  saved = null,
  own = null,
  tokens = null,
  sharings = null,
  onWaits = (_waits) => {},
  delay = async (_ms) => {},
  identity = () => ({}),
}) {
  let socket = null;
  const openSocket = () => (socket ??= connect());

  const answered = async (ask) => {
    let response;
    try {
      response = await ask();
    } catch {
      throw new Problem({
        title: msg`The server cannot be reached`,
        detail: msg`Check that it is still running, then try again.`,
      });
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  };

  const request = (path, options = {}) =>
    answered(() => fetch(path, { ...options, headers: { ...identity(), ...options.headers } }));

  const post = async (path, body) => {
    const headers = { "Content-Type": "application/json" };
    const response = await request(path, { method: "POST", headers, body: JSON.stringify(body) });
    return response.json();
  };

  const left = new Set();

  /** A run that the server has taken, once it has begun: until then it stands in line. */
  const begun = async (answer) => {
    const { id, delete_token } = answer;
    if (delete_token) tokens?.add(id, delete_token);
    if (answer.status !== "queued") return answer;
    try {
      for (let waits = answer; waits.status === "queued"; waits = await (await request(at(id))).json()) {
        onWaits({ id, place: waits.place, estimate_s: waits.estimate_s });
        await delay(LINE_MS);
      }
    } catch (problem) {
      if (left.has(id)) throw new Problem({ title: msg`Removed from the queue`, detail: msg`The run did not start.` });
      throw problem;
    } finally {
      onWaits(null);
    }
    return answer;
  };

  /** A run made from another. */
  const made = async (run, how, body) => {
    const answer = await begun(await post(at(run, how), body));
    own?.add(run, answer.id);
    return answer;
  };

  /** A session that this device made, and can delete. */
  const kept = (answer) => {
    sharings?.add(answer.id, answer.delete_token);
    return answer;
  };

  const isSaved = (run) => saved !== null && run === saved.run;
  const at = (run, rest = "") =>
    isSaved(run) ? `${ofSession(saved.id)}${rest}` : `/api/runs/${encodeURIComponent(run)}${rest}`;

  /** Stored frames after `after`, handed on as they arrive. */
  const frames = async (run, after, onFrame, signal) => {
    await readFrames(await request(at(run, `/frames?after=${after}`), { signal }), onFrame);
  };

  /** The values frame of a step and layer. */
  const valuesFrame = async ({ step, layer }) => {
    const response = await request(at(saved.run, `/values?step=${step}&layer=${layer}`));
    return decodeFrame(await response.arrayBuffer());
  };

  /** The values frames of a layer, as far as they are whole; `problem` says what ended them. */
  const valuesOfLayer = async (layer) => {
    const found = [];
    const response = await request(at(saved.run, `/values?layer=${layer}`));
    try {
      await readFrames(response, (frame) => found.push(frame));
      return { frames: found, problem: null };
    } catch {
      // The stream was cut: asked for alone, the next part says why.
      const problem = await valuesFrame({ step: found.length, layer }).then(
        () => null,
        (refusal) => refusal,
      );
      return { frames: found, problem: problem ?? new Problem({ title: msg`The connection was lost` }) };
    }
  };

  const stored = createStored(saved, { layer: valuesOfLayer, one: valuesFrame });

  /** What is stored with a saved session answers for its run; otherwise the engine does. */
  const answerTo = async (question, { run, ...wanted }) => {
    if (isSaved(run) && stored[question]) return stored[question]({ run, ...wanted });
    const response = await request(at(run, `/${question}${queryOf(wanted)}`));
    if (response.headers.get("Content-Type")?.startsWith("application/json")) return response.json();
    return decodeSafetensors(new Uint8Array(await response.arrayBuffer())).tensors;
  };
  const asks = new Map();

  return {
    /** @returns {Promise<Object<string, {name: string, text: string}>>} definitions by id  @throws {Problem} */
    glossary: async ({ signal }) => (await request("/static/shared/words/glossary.json", { signal })).json(),

    /** @returns {Promise<Object>} where loading stands; `state` is "ready" when runs are served */
    async readiness() {
      const response = await fetch("/readyz");
      const body = await response.json();
      return response.ok ? { ...body, state: "ready" } : body;
    },

    /** @returns {Promise<{id: string, url: string}>}  @throws {Problem} */
    start: async (settings) => begun(await post("/api/runs", settings)),

    /**
     * Several requests that are answered together, once per round (docs/frames.md, Serving).
     *
     * @param {{system: string, requests: Object[], rounds: Object[]}} body
     * @returns {Promise<{id: string, url: string, delete_token: string}>} a log to watch  @throws {Problem}
     */
    workload: async (body) => begun(await post("/api/workloads", body)),

    /**
     * Somebody joins a workload while it is answered.
     *
     * @param {{prompt: string, max_new_tokens: number, retry_of?: number|null}} asked
     * @returns {Promise<{request: number}>} its number there  @throws {Problem}
     */
    join: (run, asked) => post(`/api/workloads/${encodeURIComponent(run)}/requests`, asked),

    /** Cancels one request of a workload.  @throws {Problem} */
    async leave(run, number) {
      await request(`/api/workloads/${encodeURIComponent(run)}/requests/${number}`, { method: "DELETE" });
    },

    /** @returns {boolean} whether this device started the run, and can delete it */
    isMine: (run) => (tokens?.of(run) ?? null) !== null,

    /** Deletes a run that this device started, or takes it out of the line.  @throws {Problem} */
    async remove(run) {
      left.add(run);
      await request(at(run), { method: "DELETE", headers: { Authorization: `Bearer ${tokens.of(run)}` } });
      tokens.forget(run, tokens.of(run));
    },

    /** @throws {Problem} */
    control: (run, action) => post(at(run, "/control"), { action }),

    /** @throws {Problem} */
    status: async (run) => (await request(at(run))).json(),

    /**
     * A run that shares the cache up to `position` and has `token` there.
     *
     * @returns {Promise<{id: string, url: string}>}  @throws {Problem}
     */
    fork: (run, { position, token }) => made(run, "/fork", { position, token }),

    /**
     * The same run without a cache ("none"), or with one that is dropped between steps ("forgotten").
     *
     * @returns {Promise<{id: string, url: string}>} a log to watch  @throws {Problem}
     */
    twin: (run, { cache }) => made(run, "/twin", { cache }),

    /**
     * Beam search from what step `step` had before it.
     *
     * @returns {Promise<{id: string, url: string}>} a log to watch  @throws {Problem}
     */
    beam: (run, { step, beams, length }) => made(run, "/beam", { step, beams, length }),

    /** @returns {Promise<{root: string, runs: Object[]}>} the run's ancestors, branches, twins and beams  @throws {Problem} */
    async family(run) {
      const known = own?.besides(run) ?? [];
      const query = known.length ? `?known=${known.map(encodeURIComponent).join(",")}` : "";
      const response = await request(at(run, `/family${query}`));
      return response.json();
    },

    /**
     * @param {string} question one of those that the engine answers about a run (docs/frames.md, On demand)
     * @returns {(wanted: Object) => Promise<any>} what asks it: of the run `run`, with the question's other parameters by
     *   their names in the contract; tensors by name, or what JSON says. The same function each time. It throws Problem
     */
    ask(question) {
      if (!asks.has(question)) asks.set(question, (wanted) => answerTo(question, wanted));
      return asks.get(question);
    },

    /** How a prompt is cut into tokens (docs/frames.md, Of the vocabulary).  @throws {Problem} */
    tokens: (asked) => post("/api/tokens", asked),

    /** A token's learned row, and those nearest to it.  @throws {Problem} */
    embedding: async ({ token }) => (await request(`/api/embedding?token=${token}`)).json(),

    /** What this machine can read and compute a second, at best.  @throws {Problem} */
    measure: () => post("/api/measure", {}),

    /**
     * A copy of a closed run that opens from its own link.
     *
     * @param {string} run
     * @param {{title?: string, notes?: Object[], open?: Object, values?: string}} words
     * @returns {Promise<{id: string, url: string, delete_token: string}>}  @throws {Problem}
     */
    share: async (run, words) => kept(await post(at(run, "/share"), words)),

    /**
     * Keeps the session that a file has.
     *
     * @param {Blob} file
     * @param {{onSent: (bytes: number) => void, signal: AbortSignal}} options
     * @returns {Promise<{id: string, url: string, delete_token: string}>}  @throws {Problem}
     */
    keep: async (file, options) =>
      kept(await (await answered(() => upload("/api/sessions", file, { ...options, headers: identity() }))).json()),

    /** @returns {Promise<Object>} what a saved session says of itself (docs/sessions.md)  @throws {Problem} */
    manifest: async (id, { signal }) => (await request(ofSession(id), { signal })).json(),

    /** @returns {string} the path of a session as a file; `level`: how much of it a page has, null for all there is */
    fileOf,

    /** @returns {Promise<number|undefined>} how many bytes that file has, unless a proxy takes that off  @throws {Problem} */
    async sizeOf(id, kind, level, { signal }) {
      const response = await request(fileOf(id, kind, level), { method: "HEAD", signal });
      return Number(response.headers.get("Content-Length")) || undefined;
    },

    /**
     * How much of a run a session could keep, and how far the values of one that is being shared are computed.
     *
     * @returns {Promise<{levels: Object<string, {bytes: number, estimated: boolean, refusal: string|null}>,
     *   computing: {done: number, steps: number}|null}>}  @throws {Problem}
     */
    sharing: async (run) => (await request(at(run, "/share"))).json(),

    /** @returns {string|null} the delete token of a session that this device shared, while it keeps one */
    tokenOf: (id) => sharings?.of(id) ?? null,

    /** Takes one sharing of a session back.  @throws {Problem} */
    async withdraw(id, token) {
      const headers = { Authorization: `Bearer ${token}` };
      await request(ofSession(id), { method: "DELETE", headers });
      sharings?.forget(id, token);
    },

    watch: (run, after, handlers) => watch({ run, after, handlers, frames, openSocket, grows: !isSaved(run) }),
  };
}

const ofSession = (id) => `/api/sessions/${encodeURIComponent(id)}`;

const fileOf = (id, kind, level) => `${ofSession(id)}.${kind}${level ? `?level=${level}` : ""}`;

/** @returns {string} the parameters as an address has them: "?step=3&layer=0", "" for none */
function queryOf(parameters) {
  const query = new URLSearchParams(parameters).toString();
  return query && `?${query}`;
}
