/** The page's side of the HTTP and Socket.IO contract. */

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
        title: "The server cannot be reached",
        detail: "Check that it is still running, then try again.",
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
      if (left.has(id)) throw new Problem({ title: "Taken out of the line", detail: "The run was not started." });
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

  const exact = async (run, path) => {
    const response = await request(at(run, path));
    return decodeSafetensors(new Uint8Array(await response.arrayBuffer())).tensors;
  };

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
      return { frames: found, problem: problem ?? new Problem({ title: "The connection was lost" }) };
    }
  };

  const stored = createStored(saved, { layer: valuesOfLayer, one: valuesFrame });

  /** What is stored with a saved session answers for its run; otherwise `ask` does. */
  const answer = (name, ask) => (wanted) => (isSaved(wanted.run) && stored[name] ? stored[name](wanted) : ask(wanted));

  return {
    /** @returns {Promise<Object<string, {name: string, text: string}>>} definitions by id  @throws {Problem} */
    glossary: async ({ signal }) => (await request("/static/words/glossary.json", { signal })).json(),

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

    /** Every value inside one block for one token (docs/frames.md, On demand).  @throws {Problem} */
    block: answer("block", ({ run, step, layer, position }) =>
      exact(run, `/block?step=${step}&layer=${layer}&position=${position}`),
    ),

    /** A layer for one token, computed on several devices (docs/frames.md, On demand).  @throws {Problem} */
    shards: ({ run, step, layer, position, devices }) =>
      exact(run, `/shards?step=${step}&layer=${layer}&position=${position}&devices=${devices}`),

    /** The learned weights that one number in a layer is made with (docs/frames.md, On demand).  @throws {Problem} */
    weights: ({ run, layer, of, index }) => exact(run, `/weights?layer=${layer}&of=${of}&index=${index}`),

    /**
     * The same tokens with K and V stored in fewer bits, or of fewer heads (docs/frames.md, On demand).
     *
     * @returns {Promise<{bytes: number, per_position: number, furthest: Object, kl: number[], likeliest: Object[][]}>}
     * @throws {Problem}
     */
    smaller: async ({ run, dtype, kvHeads }) =>
      (await request(at(run, `/smaller?dtype=${dtype}&kv_heads=${kvHeads}`))).json(),

    /** What a step's newest token changes of the rows before it, with the causal mask and without.  @throws {Problem} */
    mask: async ({ run, step }) => (await request(at(run, `/mask?step=${step}`))).json(),

    /** What the rows before a step's newest token left behind, and what is kept of it.  @throws {Problem} */
    everything: async ({ run, step }) => (await request(at(run, `/everything?step=${step}`))).json(),

    /** A token of the run alone at two positions.  @throws {Problem} */
    positions: async ({ run, layer, head, position, other }) =>
      (await request(at(run, `/positions?layer=${layer}&head=${head}&position=${position}&other=${other}`))).json(),

    /** A weight matrix of a layer, each weight a shade.  @throws {Problem} */
    matrix: ({ run, layer, of }) => exact(run, `/matrix?layer=${layer}&of=${of}`),

    /** How a prompt is cut into tokens (docs/frames.md, Of the vocabulary).  @throws {Problem} */
    tokens: (asked) => post("/api/tokens", asked),

    /** A token's learned row, and those nearest to it.  @throws {Problem} */
    embedding: async ({ token }) => (await request(`/api/embedding?token=${token}`)).json(),

    /** A step's forward passes timed once more, alone, with the cache or without.  @throws {Problem} */
    timing: async ({ run, step, cache }) => (await request(at(run, `/timing?step=${step}&cache=${cache}`))).json(),

    /** What this machine can read and compute a second, at best.  @throws {Problem} */
    measure: () => post("/api/measure", {}),

    /** What every position of the prompt says of the next token, held against the one that came.  @throws {Problem} */
    losses: async ({ run }) => (await request(at(run, "/losses"))).json(),

    /** One head's decode step with and without the cache (docs/frames.md, On demand).  @throws {Problem} */
    algebra: ({ run, step, layer, head }) => exact(run, `/algebra?step=${step}&layer=${layer}&head=${head}`),

    /**
     * How far each of a layer's operations differs with the cache and without (docs/frames.md, On demand).
     *
     * @returns {Promise<{operations: {name: string, cached: boolean, old: Object, new: Object}[]}>}  @throws {Problem}
     */
    operations: async ({ run, step, layer }) =>
      (await request(at(run, `/operations?step=${step}&layer=${layer}`))).json(),

    /** @returns {Promise<{layers: Object[]}>} the newest row decoded after each layer  @throws {Problem} */
    lens: answer("lens", async ({ run, step }) => (await request(at(run, `/lens?step=${step}`))).json()),

    /**
     * The tokens that a word begins with, with and without a space before it, and how a step rates them.
     *
     * @returns {Promise<{candidates: Object[]}>} tokens with logit, prob, rank, whole  @throws {Problem}
     */
    candidates: async ({ run, step, text }) =>
      (await request(at(run, `/candidates?step=${step}&text=${encodeURIComponent(text)}`))).json(),

    /**
     * Exact values of one head at one step.
     *
     * @returns {Promise<Object<string, {shape: number[], data: Float32Array}>>} q, k, v, scores, weights, output
     * @throws {Problem}
     */
    head: answer("head", ({ run, step, layer, head }) => exact(run, `/head?step=${step}&layer=${layer}&head=${head}`)),

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
