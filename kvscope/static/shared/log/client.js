/** The page's client for the HTTP and Socket.IO interfaces. */

import { msg } from "../words/msg.js";
import { HERE, isHere, LOADING_HERE } from "./device.js";
import { decodeFrame, decodeSafetensors } from "./frames.js";
import { isStored } from "./is-stored.js";
import { answered, NOT_STORED, Problem } from "./problem.js";
import { readFrames } from "./read-frames.js";
import { watch } from "./watch.js";

/** Interval between requests for the state of a queued run, in ms. */
const QUEUE_POLL_MS = 1000;
/** How often in a row the state of a queued run is requested from a server that cannot answer now. */
const MOST_QUEUE_TRIES = 30;

const NOT_COMPUTED = {
  title: msg`Not stored`,
  detail: msg`This answer is not stored, and an embedded page cannot have it computed. Open the link in KVScope to see it.`,
  status: NOT_STORED,
};

/**
 * @param {Object} parts
 * @param {Function} parts.fetch
 * @param {Function} [parts.upload] sends a file, as upload.js does
 * @param {(() => Object)|null} parts.connect opens a Socket.IO client socket when first needed; null: no run grows
 * @param {{id: string, run: string, values?: Object|null}|null} [parts.saved] the saved session of a run: everything about
 *   that run is read from it over HTTP, because it does not grow; stored exact values do not need a model
 * @param {{add: (run: string, derived: string) => void, besides: (run: string) => string[]}|null} [parts.own] runs
 *   that the server lists only for a request that names them (state/own-runs.js)
 * @param {{add: Function, of: Function, forget: Function}|null} [parts.tokens] delete tokens of the runs that this device started
 * @param {{add: Function, of: Function, forget: Function}|null} [parts.sharings] delete tokens of the sessions that it shared
 * @param {(waits: {id: string, place: number, estimate_s: number|null}|null) => void} [parts.onWaits] called with the place of a
 *   new run in the queue, then with null when the run has started or will not start
 * @param {(ms: number) => Promise<void>} parts.delay
 * @param {() => Object<string, string>} [parts.identity] headers that identify the client, sent with every request
 * @param {(listener: (how: "back"|"offline") => void) => () => void} [parts.presence] `followPresence` of the page's window
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
  presence = (_listener) => () => {},
}) {
  let socket = null;
  const openSocket = () => (socket ??= connect());

  const request = (path, options = {}) =>
    answered(() => fetch(path, { ...options, headers: { ...identity(), ...options.headers } }));

  /** Requests something that the engine computes. For a page inside another site's page the server computes nothing. */
  const computed = async (path) => {
    const response = await request(path);
    if (response.status === NOT_STORED) throw new Problem(NOT_COMPUTED);
    return response;
  };

  const post = async (path, body) => {
    const headers = { "Content-Type": "application/json" };
    const response = await request(path, { method: "POST", headers, body: JSON.stringify(body) });
    return response.json();
  };

  const removed = new Set();

  /** Returns the state of a queued run. Retries while another web process takes over, when the server answers 503. */
  const placeOf = async (id) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await (await request(at(id))).json();
      } catch (problem) {
        if (problem.status !== 503 || problem.retryAfter === null || tries === MOST_QUEUE_TRIES) throw problem;
      }
      await delay(QUEUE_POLL_MS);
    }
  };

  /** Waits until an accepted run has left the queue and started. */
  const untilStarted = async (answer) => {
    const { id, delete_token } = answer;
    if (delete_token) tokens?.add(id, delete_token);
    if (answer.status !== "queued") return answer;
    try {
      for (let waits = answer; waits.status === "queued"; waits = await placeOf(id)) {
        onWaits({ id, place: waits.place, estimate_s: waits.estimate_s });
        await delay(QUEUE_POLL_MS);
      }
    } catch (problem) {
      if (removed.has(id))
        throw new Problem({ title: msg`Removed from the queue`, detail: msg`The run did not start.` });
      throw problem;
    } finally {
      onWaits(null);
    }
    return answer;
  };

  /** Starts a run that derives from another. */
  const derive = async (run, how, body) => {
    const answer = await untilStarted(await post(at(run, how), body));
    own?.add(run, answer.id);
    return answer;
  };

  /** Remembers the delete token of a session that this device created. */
  const remember = (answer) => {
    sharings?.add(answer.id, answer.delete_token);
    return answer;
  };

  const isSaved = (run) => saved !== null && run === saved.run;
  const at = (run, rest = "") =>
    isSaved(run) ? `${ofSession(saved.id)}${rest}` : `/api/runs/${encodeURIComponent(run)}${rest}`;

  /** Reads the stored frames after the frame `after`, and passes on each when it arrives. */
  const frames = async (run, after, onFrame, signal) => {
    await readFrames(await request(at(run, `/frames?after=${after}`), { signal }), onFrame);
  };

  /** Reads the values frame of a step and layer. */
  const valuesFrame = async ({ step, layer }) => {
    const response = await request(at(saved.run, `/values?step=${step}&layer=${layer}`));
    return decodeFrame(await response.arrayBuffer());
  };

  /** Reads the complete values frames of a layer; `problem` says why later ones are missing. */
  const valuesOfLayer = async (layer) => {
    const whole = [];
    const response = await request(at(saved.run, `/values?layer=${layer}`));
    try {
      await readFrames(response, (frame) => whole.push(frame));
      return { frames: whole, problem: null };
    } catch {
      // The stream ended early; a request for the next part alone returns the reason.
      const problem = await valuesFrame({ step: whole.length, layer }).then(
        () => null,
        (refusal) => refusal,
      );
      return { frames: whole, problem: problem ?? new Problem({ title: msg`The connection was lost` }) };
    }
  };

  let reading = null;
  /** Most sessions have no stored values, so the code that computes from them is loaded on demand. */
  const stored = () => {
    reading ??= import("./stored.js").then(({ createStored }) =>
      createStored(saved, { layer: valuesOfLayer, one: valuesFrame }),
    );
    // A failed download is not cached: the next one may succeed.
    reading.catch(() => {
      reading = null;
    });
    return reading;
  };

  /** Answers from values stored with the saved session if possible, else from the engine. */
  const answerTo = async (question, { run, ...parameters }) => {
    if (isSaved(run) && isStored(saved, question, parameters.layer)) return (await stored())[question](parameters);
    const response = await computed(at(run, `/${question}${queryOf(parameters)}`));
    if (response.headers.get("Content-Type")?.startsWith("application/json")) return response.json();
    return decodeSafetensors(new Uint8Array(await response.arrayBuffer())).tensors;
  };
  const asks = new Map();

  return {
    /** @returns {Promise<Object<string, {name: string, text: string}>>} definitions by id  @throws {Problem} */
    glossary: async ({ signal }) => (await request("/static/shared/words/glossary.json", { signal })).json(),

    /** @returns {Promise<Object>} the progress of loading; `state` is "ready" when the server accepts runs */
    async readiness() {
      const response = await fetch("/readyz");
      const body = await response.json();
      return response.ok ? { ...body, state: "ready" } : body;
    },

    /** @returns {Promise<{models: Object[], memory: number}>} the models of the server, the default first  @throws {Problem} */
    models: async () => (await request("/api/models")).json(),

    /** Begins to load a model.  @throws {Problem} */
    loadModel: (model) => post("/api/models/load", { model }),

    /** The model on this device. */
    here: {
      /** @returns {Promise<{model: Object|null, bytes: number, stored: number, metered: boolean, file: string}>}  @throws {Problem} */
      describe: async () => (await request(HERE)).json(),
      /** Begins to load it; it then computes the runs that this page starts.  @throws {Problem} */
      load: () => request(HERE, { method: "POST" }),
      /** Uses a GGUF file of the visitor in place of it.  @throws {Problem} */
      use: (file) => request(HERE, { method: "PUT", body: file }),
      /** Stops loading it, and forgets the file; what is stored stays, and the next time only the rest is downloaded.  @throws {Problem} */
      cancel: () => request(LOADING_HERE, { method: "DELETE" }),
      /** Removes it.  @throws {Problem} */
      remove: () => request(HERE, { method: "DELETE" }),
    },

    /** @returns {Promise<{id: string, url: string}>}  @throws {Problem} */
    start: async (settings) => untilStarted(await post("/api/runs", settings)),

    /**
     * Starts a workload: several requests that are answered together, once per round (docs/frames.md, Serving).
     *
     * @param {{system: string, requests: Object[], rounds: Object[]}} body
     * @returns {Promise<{id: string, url: string, delete_token: string}>} a log to watch  @throws {Problem}
     */
    workload: async (body) => untilStarted(await post("/api/workloads", body)),

    /**
     * Adds a request to a workload that is being answered.
     *
     * @param {{prompt: string, max_new_tokens: number, retry_of?: number|null}} body
     * @returns {Promise<{request: number}>} the number of the request  @throws {Problem}
     */
    join: (run, body) => post(`/api/workloads/${encodeURIComponent(run)}/requests`, body),

    /** Cancels one request of a workload.  @throws {Problem} */
    async leave(run, number) {
      await request(`/api/workloads/${encodeURIComponent(run)}/requests/${number}`, { method: "DELETE" });
    },

    /** @returns {boolean} whether this device started the run, and can delete it */
    isMine: (run) => (tokens?.of(run) ?? null) !== null,

    /** Deletes a run that this device started, or removes it from the queue.  @throws {Problem} */
    async remove(run) {
      removed.add(run);
      await request(at(run), { method: "DELETE", headers: { Authorization: `Bearer ${tokens.of(run)}` } });
      tokens.forget(run, tokens.of(run));
    },

    /** @throws {Problem} */
    control: (run, action) => post(at(run, "/control"), { action }),

    /** @throws {Problem} */
    status: async (run) => (await request(at(run))).json(),

    /**
     * Starts a branch: a run that shares the cache up to `position` and has `token` there.
     *
     * @returns {Promise<{id: string, url: string}>}  @throws {Problem}
     */
    fork: (run, { position, token }) => derive(run, "/fork", { position, token }),

    /**
     * Starts a twin: the same run without a cache ("none"), with one that is dropped between steps ("forgotten"), or with `budget` positions in it
     * ("window", "sinks", "heavy") and its own `tokens` or those of the run ("own", "given").
     *
     * @returns {Promise<{id: string, url: string}>} a log to watch  @throws {Problem}
     */
    twin: (run, study) => derive(run, "/twin", study),

    /**
     * Starts the same run with changes to what the model computes (docs/frames.md, Changed runs).
     *
     * @returns {Promise<{id: string, url: string}>}  @throws {Problem}
     */
    change: (run, { changes }) => derive(run, "/change", { changes }),

    /**
     * Starts a beam search from the tokens before step `step`.
     *
     * @returns {Promise<{id: string, url: string}>} a log to watch  @throws {Problem}
     */
    beam: (run, { step, beams, length }) => derive(run, "/beam", { step, beams, length }),

    /** @returns {Promise<{root: string, runs: Object[]}>} the run's ancestors, branches, twins and beams  @throws {Problem} */
    async family(run) {
      const known = own?.besides(run) ?? [];
      const query = known.length ? `?known=${known.map(encodeURIComponent).join(",")}` : "";
      const response = await request(at(run, `/family${query}`));
      return response.json();
    },

    /**
     * @param {string} question that the engine answers about a run (docs/frames.md, On demand)
     * @returns {(parameters: Object) => Promise<any>} asks it about the run `run`; the other parameters have the names of the HTTP
     *   API. The result is tensors by name, or JSON; it throws Problem. The same question always returns the same function
     */
    ask(question) {
      if (!asks.has(question)) asks.set(question, (parameters) => answerTo(question, parameters));
      return asks.get(question);
    },

    /** Returns the tokens of a prompt (docs/frames.md, Of the vocabulary).  @throws {Problem} */
    tokens: (body) => post("/api/tokens", body),

    /** Returns a token's embedding and the nearest tokens; without `model`, of the default model.  @throws {Problem} */
    embedding: async (parameters) => (await computed(`/api/embedding${queryOf(parameters)}`)).json(),

    /** Compares the embeddings of several words (docs/frames.md, Of the vocabulary).  @throws {Problem} */
    words: (body) => post("/api/words", body),

    /** Measures how much the machine can read and compute per second at best.  @throws {Problem} */
    measure: () => post("/api/measure", {}),

    /**
     * Shares a closed run: makes a copy with a link to it.
     *
     * @param {string} run
     * @param {{title?: string, notes?: Object[], open?: Object, values?: string}} words
     * @returns {Promise<{id: string, url: string, delete_token: string}>}  @throws {Problem}
     */
    share: async (run, words) => remember(await post(at(run, "/share"), words)),

    /**
     * Stores the session in a file on the server.
     *
     * @param {Blob} file
     * @param {{onSent: (bytes: number) => void, signal: AbortSignal}} options
     * @returns {Promise<{id: string, url: string, delete_token: string}>}  @throws {Problem}
     */
    keep: async (file, options) =>
      remember(await (await answered(() => upload("/api/sessions", file, { ...options, headers: identity() }))).json()),

    /** @returns {Promise<Object>} the manifest of a saved session (docs/sessions.md)  @throws {Problem} */
    manifest: async (id, { signal }) => (await request(ofSession(id), { signal })).json(),

    /** @returns {Promise<Blob>} a run of this device as a file  @throws {Problem} */
    file: async (run) => (await request(`${at(run)}.safetensors`)).blob(),

    /** @returns {Promise<ArrayBuffer>} the frames of a run, each after its length  @throws {Problem} */
    log: async (run) => (await request(at(run, "/frames?after=-1"))).arrayBuffer(),

    /** @returns {string} the path of a session as a file; `level`: the exact values in a page, null for everything stored */
    fileOf,

    /** @returns {Promise<number|undefined>} the size of that file in bytes, unless a proxy removed the header  @throws {Problem} */
    async sizeOf(id, kind, level, { signal }) {
      const response = await request(fileOf(id, kind, level), { method: "HEAD", signal });
      return Number(response.headers.get("Content-Length")) || undefined;
    },

    /**
     * Returns the values that a shared session can include, and the progress of their computation.
     *
     * @returns {Promise<{levels: Object<string, {bytes: number, estimated: boolean, refusal: string|null}>,
     *   computing: {done: number, steps: number}|null}>}  @throws {Problem}
     */
    sharing: async (run) => (await request(at(run, "/share"))).json(),

    /** @returns {string|null} the delete token of a session that this device shared, if it is stored */
    tokenOf: (id) => sharings?.of(id) ?? null,

    /** Deletes one share of a session.  @throws {Problem} */
    async withdraw(id, token) {
      const headers = { Authorization: `Bearer ${token}` };
      await request(ofSession(id), { method: "DELETE", headers });
      sharings?.forget(id, token);
    },

    watch: (run, after, handlers) =>
      watch({
        run,
        after,
        handlers,
        frames,
        openSocket,
        grows: connect !== null && !isSaved(run) && !isHere({ id: run }),
        presence: isHere({ id: run }) ? alwaysPresent : presence,
      }),
  };
}

/** A run of this device needs no connection: it goes on while the page is in the background, and offline. */
const alwaysPresent = () => () => {};

const ofSession = (id) => `/api/sessions/${encodeURIComponent(id)}`;

const fileOf = (id, kind, level) => `${ofSession(id)}.${kind}${level ? `?level=${level}` : ""}`;

/** @returns {string} the query string: "?step=3&layer=0", "" for none */
function queryOf(parameters) {
  const query = new URLSearchParams(parameters).toString();
  return query && `?${query}`;
}
