/**
 * Answers requests about runs of this device in a server's place (docs/api.md). All other requests go to the server, or to the files
 * of a static site.
 *
 * The engine computes in a worker (worker.js). The logs are here: they stay if the worker ends.
 */

import { newRunId } from "../../shared/log/device.js";
import { FrameSplitter } from "../../shared/log/frames.js";
import { Problem } from "../../shared/log/problem.js";
import { json } from "../../shared/log/responses.js";
import { msg } from "../../shared/words/msg.js";
import { encodeFrame, encodeSafetensors } from "../log/encode.js";
import { headOf, outlineOf, statusOf } from "../log/outline.js";
import { archiveOf } from "./archive.js";
import { changedOpening, forked, twinOpening } from "./derived.js";
import { createDevice } from "./device.js";
import { createLogs } from "./logs.js";

const LOG = /^\/api\/(runs|sessions)\/([^/.]+)(?:\/([a-z]+)|\.(safetensors))?$/;
/** Questions that need no run, by their path. */
const OF_VOCABULARY = { "/api/tokens": "tokens", "/api/embedding": "embedding", "/api/words": "words" };
const NO_WORDS = { title: "", notes: [], open: null };
/** What a server assumes where a request leaves a setting out (kvscope/model/settings.py). */
const DEFAULTS = {
  ...{ chat: false, max_new_tokens: 64, reuse: true },
  ...{ strategy: "greedy", temperature: 1, top_k: 0, top_p: 1, seed: 0 },
};

/**
 * @param {Object} parts
 * @param {Function} parts.fetch answers everything else
 * @param {() => boolean} parts.isChosen whether this device answers whatever needs a model, in place of a server
 * @param {Object} parts.weights as `createWeights` returns them
 * @param {() => Promise<Worker>} parts.startWorker
 * @param {() => string} [parts.newId]
 * @returns {{fetch: Function, device: ReturnType<typeof createDevice>}}
 */
export function createSource({ fetch: elsewhere, isChosen, weights, startWorker, newId = newRunId }) {
  const logs = createLogs();
  /** Outlines of logs that are not of this device, by their paths. */
  const outlines = new Map();

  const device = createDevice({
    weights,
    startWorker,
    onFrames: ({ run, payloads, closed }) => logs.add(run, payloads, closed),
    onLost: () => logs.runs().forEach(interrupt),
  });

  /** Ends the log of a run whose engine is gone. */
  const interrupt = (run) => {
    const { payloads, closed } = logs.of(run);
    if (closed) return;
    const { steps } = statusOf(run, logs.of(run));
    const data = { reason: "interrupted", error: null, steps };
    logs.add(run, [encodeFrame({ run, seq: payloads.length, kind: "close", data })], true);
  };

  const payloadsOf = async (kind, id) => {
    if (logs.has(id)) return logs.of(id).payloads;
    const response = await elsewhere(`/api/${kind}/${id}/frames?after=-1`);
    return new FrameSplitter().push(new Uint8Array(await response.arrayBuffer()));
  };

  const outline = async (kind, id) => {
    if (logs.has(id)) return outlineOf(logs.of(id).payloads);
    if (!outlines.has(id)) outlines.set(id, outlineOf(await payloadsOf(kind, id)));
    return outlines.get(id);
  };

  const mustBeOurs = ({ sha256 }) => {
    device.mustBeReady();
    if (sha256 === device.state().model?.sha256) return;
    throw new Problem({
      title: msg`Another model`,
      detail: msg`Another model than the one on this device computed this run.`,
      status: 409,
    });
  };

  const started = (run) => json({ id: run, url: `/?run=${run}`, status: "running", delete_token: run }, 201);

  const start = async ({ model: _, ...body }) => {
    device.mustBeReady();
    const run = newId();
    logs.begin(run);
    try {
      await device.call("start", { run, created: now(), ...DEFAULTS, ...body });
    } catch (problem) {
      logs.remove(run);
      throw problem;
    }
    return started(run);
  };

  /** Continues a log of the same model in a new run. The worker's frames arrive after its answer, so the log can begin then. */
  const resume = async (kind, id, request, framesOf) => {
    const payloads = await payloadsOf(kind, id);
    const log = outlineOf(payloads);
    mustBeOurs(log);
    const { sampling, limits } = headOf(payloads[0]).data;
    const run = newId();
    const { seq, ...more } = request(log, payloads);
    const spent = await device.call("resume", {
      run,
      seq,
      settings: sampling,
      newTokens: limits.max_new_tokens,
      ...more,
    });
    logs.begin(run, framesOf(payloads.slice(0, seq), { run, created: now(), spent, log }));
    return started(run);
  };

  const fork = async (kind, id, { position, token: chosen }) => {
    device.mustBeReady();
    const { value: token } = await device.call("answer", { question: "token", parameters: { token: chosen } });
    return resume(
      kind,
      id,
      ({ ids, prompt, chat, changes }, payloads) => {
        const seq = 1 + lastOfStep(payloads, position - prompt);
        return { seq, ids: [...ids.slice(0, position), token.id], prompt, chat, changes };
      },
      (payloads, { run, created, spent }) =>
        forked(payloads, { run, parent: id, position, token, recomputed: spent, created }),
    );
  };

  const changeRun = (kind, id, { changes }) =>
    resume(
      kind,
      id,
      ({ ids, prompt, chat, forced }) => ({ seq: 1, ids: ids.slice(0, prompt), prompt, chat, changes, forced }),
      ([opening], { run, created }) => [changedOpening(opening, { run, of: id, changes, created })],
    );

  /** Computes a run again without a cache. Other twins drop some rows between steps, which this engine cannot. */
  const twin = (kind, id) =>
    resume(
      kind,
      id,
      ({ ids, prompt, chat, changes, forced, steps }) => ({
        ...{ seq: 1, ids: ids.slice(0, prompt), prompt, chat, changes, forced },
        ...{ cached: false, newTokens: steps.length },
      }),
      ([opening], { run, created, log }) => [twinOpening(opening, { run, of: id, steps: log.steps.length, created })],
    );

  /** Sends a run to the server as a file, and returns the answer: the link to it. */
  const share = (id, { title, notes, open }, identity) => {
    const body = archiveOf(logs.of(id).payloads, {
      title: title ?? "",
      notes: notes ?? [],
      open: open ?? null,
      created: now(),
    });
    const headers = { ...identity, "Content-Type": "application/octet-stream" };
    return elsewhere("/api/sessions", { method: "POST", headers, body });
  };

  /** Returns what a share of a run can include: its frames. */
  const sharing = (id) => {
    const { bytes } = statusOf(id, logs.of(id));
    const none = {
      bytes: 0,
      estimated: false,
      refusal: msg`Exact values of a run of this device are computed when they are asked for. They are not stored.`,
    };
    return {
      levels: { attention: { bytes, estimated: false, refusal: null }, qkv: none, block: none },
      computing: null,
    };
  };

  const answer = async (question, log, parameters) => {
    const { tensors, value } = await device.call("answer", { question, log, parameters });
    return tensors ? new Response(encodeSafetensors({}, tensors)) : json(value);
  };

  const ofLog = async (kind, id, what, { method, query, body, headers, signal }) => {
    const own = logs.has(id);
    if (own && !what && method === "GET") return json(statusOf(id, logs.of(id)));
    if (own && !what && method === "DELETE") {
      await device.call("remove", { run: id }).catch(() => {});
      logs.remove(id);
      return new Response(null, { status: 204 });
    }
    if (own && what === "frames") return new Response(logs.stream(id, Number(query.after ?? -1), signal));
    if (own && what === "control") return json({ id, status: await device.call("control", { run: id, ...body }) });
    if (own && what === "share") return method === "GET" ? json(sharing(id)) : share(id, body, headers);
    if (what === "safetensors") return new Response(archiveOf(logs.of(id).payloads, { ...NO_WORDS, created: now() }));
    if (what === "family") return json(await familyOf(kind, id));
    if (what === "fork") return fork(kind, id, body);
    if (what === "twin" && body.cache === "none") return twin(kind, id);
    if (what === "change") return changeRun(kind, id, body);
    const log = await outline(kind, id);
    mustBeOurs(log);
    return answer(what, log, query);
  };

  /** Returns the family of a run: that of the files, with the runs of this device that derive from it. */
  const familyOf = async (kind, id) => {
    const members = logs.runs().map((run) => withToken(statusOf(run, logs.of(run)), logs.of(run)));
    const parentOf = ({ parent, changed, study }) => parent?.run ?? changed?.of ?? study?.of ?? null;
    const root = (run) => {
      const member = members.find((each) => each.id === run);
      const above = member && parentOf(member);
      return above ? root(above) : run;
    };
    const first = root(id);
    const derived = members.filter((member) => root(member.id) === first && member.id !== first);
    const response = logs.has(first) ? null : await elsewhere(`/api/${kind}/${first}/family`);
    const recorded = response?.ok ? await response.json() : { root: first, runs: [] };
    const own = members.filter((member) => member.id === first);
    return { root: first, runs: [...own, ...recorded.runs, ...derived] };
  };

  /** @returns {Promise<Response>|null} null: this device has no answer */
  const route = (path, options) => {
    const { pathname, searchParams } = new URL(path, "http://device");
    const { method = "GET", headers, signal } = options;
    const body = options.body ? JSON.parse(options.body) : null;
    const query = Object.fromEntries([...searchParams].map(([name, value]) => [name, parameterOf(name, value)]));
    if (isChosen() && pathname === "/readyz") return Promise.resolve(readiness(device.state()));
    if (isChosen() && pathname === "/api/runs" && method === "POST") return start(body);
    if (isChosen() && OF_VOCABULARY[pathname]) {
      return Promise.resolve().then(() => {
        device.mustBeReady();
        return answer(OF_VOCABULARY[pathname], null, body ?? query);
      });
    }
    const [, kind, id, part, file] = LOG.exec(pathname) ?? [];
    const what = part ?? file;
    const ours = id && (logs.has(id) || (isChosen() && !["frames", "values"].includes(what) && (what || false)));
    return ours ? ofLog(kind, id, what, { method, query, body, headers, signal }) : null;
  };

  return {
    device,
    async fetch(path, options = {}) {
      const answering = route(path, options);
      if (!answering) return elsewhere(path, options);
      try {
        return await answering;
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        const { title, detail, status, field, limit } = problem;
        return json({ title, detail, status, field, limit }, status || 500);
      }
    },
  };
}

/** Returns the answer to `/readyz` on a static site. */
function readiness({ state, message, stopped, model, done, total }) {
  return json({ state, message, stopped, model, done, total }, state === "ready" ? 200 : 503);
}

/** Returns a member of a family. Of a branch, it has the first token in full (docs/api.md). */
function withToken(member, { payloads }) {
  const { parent, prompt_tokens: prompt } = member;
  if (!parent) return member;
  const { data } = headOf(payloads[lastOfStep(payloads, parent.position - prompt)]);
  return { ...member, parent: { ...parent, token: data.token } };
}

/** Returns the place of the frame that ends a step. */
function lastOfStep(payloads, step) {
  return payloads.findIndex((payload) => {
    const { kind, data } = headOf(payload);
    return kind === "step" && data.step === step;
  });
}

/** Returns a value of a query; `text` is not a number, even if it consists of digits. */
function parameterOf(name, value) {
  return name !== "text" && /^-?\d+$/.test(value) ? Number(value) : value;
}

const now = () => `${new Date().toISOString().slice(0, 19)}+00:00`;
