/**
 * The engine's runs: admits them, computes their passes in turn, and keeps their rows in the cache for branches and later prompts. It
 * does for the browser what kvscope/model/service/service.py does on a server.
 */

import { msg } from "../../shared/words/msg.js";
import { createRecorder } from "../log/recorder.js";
import { Refused } from "../refused.js";
import { BLOCK_SIZE, CacheFull, createCache } from "./cache.js";
import { keyOf } from "./changed.js";
import { advance, catchUp, nothingSpent } from "./run.js";

/** Under this name stay rows that were computed for questions. */
const ASKED = "";

/**
 * @param {Object} parts
 * @param {ReturnType<typeof import("../native/model.js").createModel>} parts.model
 * @param {Object} parts.info the model as an `open` frame describes it
 * @param {Object} parts.cost as `costOf` takes it
 * @param {{prompt_tokens: number, new_tokens: number, positions: number}} parts.limits
 * @param {Object} parts.tokenizer
 * @param {(run: import("./changed.js").Changed) => (rows: {first: number, count: number}) => Object[]} parts.editsOf
 * @param {(run: string, frames: Uint8Array[], closed: boolean) => void} parts.onFrames called with new frames
 * @param {() => number} parts.now milliseconds
 */
export function createService({ model, info, cost, limits, tokenizer, editsOf, onFrames, now }) {
  const cache = createCache({ blocks: Math.floor(model.positions / BLOCK_SIZE), copyRows: model.copyRows });
  const engine = { model, info, cost, cache, tokenizer, now };
  /** @type {Map<string, import("./run.js").Run & {paused: boolean, singleSteps: number}>} runs that compute */
  const active = new Map();
  /** Rows of runs that ended, least recently used first: for branches, and for prompts that begin alike. */
  const rows = new Map();

  const forget = (id) => {
    cache.release(rows.get(id).table);
    rows.delete(id);
  };

  /** Runs `act`, which takes blocks, and evicts rows of ended runs as long as there are too few.  @throws {Refused} */
  const withRoom = (act) => {
    for (;;) {
      try {
        return act();
      } catch (error) {
        const [oldest] = rows.keys();
        if (!(error instanceof CacheFull)) throw error;
        if (oldest === undefined)
          throw new Refused(503, msg`The KV cache is full. Try again when another run has ended.`);
        forget(oldest);
      }
    }
  };

  /** Returns the rows in the cache that begin like `ids`, at most `most`, with the same changes: the run that has them, and how many. */
  const prefixOf = (ids, most, key) => {
    let best = { table: [], count: 0 };
    for (const { ids: other, table, fed, key: changed } of [...rows.values(), ...active.values()]) {
      if (changed !== key) continue;
      let count = 0;
      while (count < Math.min(fed, most) && other[count] === ids[count]) count += 1;
      if (count > best.count) best = { table, count };
    }
    return best;
  };

  /** Admits a run. `reused`: the most of its first rows that are read from the cache. */
  const admit = ({
    run,
    ids,
    prompt,
    chat = false,
    settings,
    newTokens,
    seq,
    reuse,
    forced = [],
    changes = [],
    cached = true,
  }) => {
    const changed = { ids, prompt, chat, changes };
    const key = keyOf(changed);
    const edits = editsOf(changed);
    const { table, count } = reuse ? prefixOf(ids, ids.length - 1, key) : { table: [], count: 0 };
    const own = withRoom(() => cache.share(table, count));
    active.set(run, {
      id: run,
      ids: [...ids],
      prompt,
      sampling: settings,
      newTokens,
      table: own,
      fed: count,
      cached,
      step: ids.length - prompt,
      forced: new Map(forced),
      key,
      edits,
      spent: nothingSpent(),
      recorder: createRecorder({ run, tokenizer, seq }),
      paused: false,
      singleSteps: 0,
    });
    return active.get(run);
  };

  /** Takes a run out of the computation. Its rows stay. */
  const finish = (run) => {
    active.delete(run.id);
    rows.set(run.id, { ids: run.ids, table: run.table, fed: run.fed, key: run.key });
  };

  const end = (run, reason, error = null) => {
    finish(run);
    onFrames(run.id, [run.recorder.close({ reason, error, steps: run.step })], true);
  };

  const idsOf = (prompt, chat) => {
    const ids = chat ? tokenizer.encodeChat(prompt) : tokenizer.encode(prompt);
    const most = limits.prompt_tokens;
    if (!ids.length)
      throw new Refused(422, msg`The prompt is empty; it must have at least one token.`, { field: "prompt" });
    if (ids.length > most) {
      const detail = msg`The prompt has ${ids.length} tokens; the limit is ${most}.`;
      throw new Refused(413, detail, { field: "prompt", limit: most });
    }
    return ids;
  };

  const stepOf = (run) => {
    try {
      const { frames, closed } = withRoom(() => advance(engine, run));
      if (closed) finish(run);
      onFrames(run.id, frames, closed);
    } catch (error) {
      end(run, "failed", error instanceof Refused ? error.message : msg`The model failed: ${String(error)}`);
    }
  };

  return {
    /** Admits a run of a prompt.  @throws {Refused} */
    start({ run, prompt, chat, max_new_tokens: newTokens, reuse, created, ...settings }) {
      const ids = idsOf(prompt, chat);
      const most = Math.min(limits.new_tokens, limits.positions - ids.length);
      if (newTokens > most) {
        const detail = msg`max_new_tokens is ${newTokens}; it must be from 1 to ${most}.`;
        throw new Refused(422, detail, { field: "max_new_tokens", limit: most });
      }
      const admitted = admit({ run, ids, prompt: ids.length, settings, newTokens, seq: 0, reuse });
      const opening = {
        ...{ model: info, prompt, chat, sampling: settings, ids },
        limits: { max_new_tokens: newTokens, max_positions: limits.positions },
        block_size: BLOCK_SIZE,
        ...{ parent: null, study: null, changed: null },
        reused: admitted.fed,
        prefix: { common: reuse ? admitted.fed : 0, reason: reuse ? null : "off" },
        created,
      };
      onFrames(run, [admitted.recorder.open(opening)], false);
    },

    /**
     * Admits a run whose first frames exist: a branch, or a changed run or twin, which begins with its prompt and shares no rows.
     *
     * @returns {{rows: number, ms: number, held: boolean}} what was computed again first, and whether the cache had some of it
     * @throws {Refused}
     */
    resume(request) {
      const admitted = admit({ ...request, reuse: request.ids.length > request.prompt });
      const held = admitted.fed > 0;
      if (request.ids.length === request.prompt) return { rows: 0, ms: 0, held };
      try {
        return { ...withRoom(() => catchUp(engine, admitted)), held };
      } catch (error) {
        this.remove(request.run);
        throw error;
      }
    },

    /** Applies `pause`, `resume`, `step` or `stop`.  @returns {"running"|"paused"|"closed"}  @throws {Refused} */
    control(id, action) {
      const run = active.get(id);
      if (!run) throw new Refused(409, msg`The run has ended. It can no longer be controlled.`, { field: "run" });
      if (action === "stop") {
        end(run, "stopped");
        return "closed";
      }
      run.paused = action !== "resume";
      run.singleSteps = action === "step" ? run.singleSteps + 1 : 0;
      return run.paused ? "paused" : "running";
    },

    /** Forgets a run and its rows. */
    remove(id) {
      const run = active.get(id);
      if (run) {
        active.delete(id);
        cache.release(run.table);
      } else if (rows.has(id)) forget(id);
    },

    /**
     * Calls `act` with a table that has the first rows of `ids`, computed with the changes of `key`, and their number; it may add blocks,
     * which are released afterwards.
     */
    withRows(ids, key, act) {
      const { table, count } = prefixOf(ids, ids.length - 1, key);
      const own = withRoom(() => cache.share(table, count));
      try {
        return withRoom(() => act(own, count));
      } finally {
        cache.release(own);
      }
    },

    /**
     * Keeps the rows of `ids`, which a table has, until others need the room: for the next question about a run that was computed elsewhere.
     */
    keepRows(ids, key, table) {
      if (prefixOf(ids, ids.length, key).count === ids.length) return;
      if (rows.has(ASKED)) forget(ASKED);
      rows.set(ASKED, { ids, table: withRoom(() => cache.share(table, ids.length)), fed: ids.length, key });
    },

    /** Computes one pass of each run that is not paused.  @returns {boolean} whether more can be computed */
    advance() {
      for (const run of [...active.values()]) {
        if (run.paused && run.singleSteps === 0) continue;
        const { step } = run;
        stepOf(run);
        if (run.paused && run.step > step) run.singleSteps -= 1;
      }
      return [...active.values()].some((run) => !run.paused || run.singleSteps > 0);
    },

    idsOf,
    cache,
    engine,
  };
}
