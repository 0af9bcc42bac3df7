/**
 * The engine in its Web Worker: answers calls of the page (page/engine.js) and sends the frames that its runs add to their logs.
 *
 * A call is {id, call, argument}; its answer {id, value} or {id, problem}. Frames are {frames: {run, payloads, closed}}.
 */

import { nextTask } from "../shared/log/next-task.js";
import { msg } from "../shared/words/msg.js";
import { editsOf } from "./answers/edits.js";
import { ANSWERS } from "./answers/index.js";
import { createRemembered } from "./answers/remembered.js";
import { openGguf } from "./gguf/read.js";
import { OutOfMemory } from "./native/memory.js";
import { createModel } from "./native/model.js";
import { Refused } from "./refused.js";
import { createService } from "./runs/service.js";
import { createTokenizer } from "./text/tokenizer.js";

/** The cache has room for so many of the longest runs: the rows of ended ones stay for branches. */
const RUNS_IN_CACHE = 2;

/** @param {{postMessage: Function, onmessage: Function|null}} port of the worker */
export function serve(port) {
  /** What `load` makes. @type {import("./answers/rows.js").Engine|null} */
  let engine = null;
  let computing = false;
  /** A visitor's file that is being read. @type {{pieces: AsyncGenerator, begin: (info: Object) => Promise<void>}|null} */
  let reading = null;

  const sendFrames = (run, frames, closed) => {
    port.postMessage(
      { frames: { run, payloads: frames, closed } },
      frames.map(({ buffer }) => buffer),
    );
  };

  const compute = async () => {
    if (computing) return;
    computing = true;
    // Calls are answered between two passes.
    do await nextTask();
    while (engine.service.advance());
    computing = false;
  };

  /** Begins to serve a model, whose weights may still be missing. */
  const begin = async (model, { packed, info, tokenizer: described, limits }) => {
    const tokenizer = await createTokenizer(described);
    const service = createService({
      ...{ model, info, cost: packed.cost, limits, tokenizer, onFrames: sendFrames },
      editsOf: (run) => editsOf(engine, run),
      now: () => performance.now(),
    });
    engine = { model, service, tokenizer, info, limits, remembered: createRemembered() };
  };

  const calls = {
    async load({ wasm, packed, limits, info, tokenizer }) {
      await begin(await modelOf(wasm, packed, limits), { packed, limits, info, tokenizer });
    },
    /** Opens a GGUF file; `read` then reads it. */
    async open({ wasm, file, details }) {
      const { read, ...described } = await openGguf(file, details);
      const model = await modelOf(wasm, described.packed, described.limits).catch(tooLarge);
      reading = { pieces: read(model.load), begin: (info) => begin(model, { info, ...described }) };
    },
    /** Reads one more piece: answers {done}, in bytes of the file, or at the end {info}, which describes the model. */
    async read() {
      const { value, done } = await reading.pieces.next();
      if (!done) return { done: value };
      await reading.begin(value);
      reading = null;
      return { info: value };
    },
    part: ({ offset, bytes }) => engine.model.load(offset, bytes),
    start: (request) => starting(() => engine.service.start(request)),
    resume: (request) => starting(() => engine.service.resume(request)),
    control: ({ run, action }) => starting(() => engine.service.control(run, action)),
    remove: ({ run }) => engine.service.remove(run),
    answer({ question, log, parameters }) {
      const answer = ANSWERS[question];
      if (!answer) throw new Refused(409, msg`The model on this device does not compute this. It needs a server.`);
      return answer(engine, log, parameters);
    },
  };

  const starting = (act) => {
    const value = act();
    compute();
    return value;
  };

  port.onmessage = async ({ data: { id, call, argument } }) => {
    try {
      port.postMessage({ id, value: await calls[call](argument) });
    } catch (error) {
      port.postMessage({ id, problem: problemOf(error) });
    }
  };
}

async function modelOf(wasm, packed, limits) {
  const { instance } = await compiled(wasm);
  return createModel({ instance, packed, positions: RUNS_IN_CACHE * limits.positions });
}

/** @returns {never} */
function tooLarge(error) {
  if (!(error instanceof OutOfMemory)) throw error;
  throw new Refused(
    507,
    msg`The browser does not give this page enough memory for it. Close other tabs, or use a smaller model, or one in fewer bits.`,
  );
}

/** @throws {Refused} if the browser does not know all instructions of the code, or has no WebAssembly, as in a lockdown mode */
async function compiled(wasm) {
  // A policy that forbids WebAssembly is no reason to name another browser: it rejects only what follows.
  if (globalThis.WebAssembly?.validate(wasm)) return WebAssembly.instantiate(wasm, {});
  throw new Refused(
    501,
    msg`This browser cannot run the model: it has no WebAssembly with SIMD. Chrome 91, Firefox 89, Safari 16.4 and later have it.`,
  );
}

function problemOf(error) {
  if (error instanceof Refused) return error.problem;
  const full = error instanceof OutOfMemory || error instanceof RangeError;
  return { title: String(error.message ?? error), detail: String(error.message ?? error), status: full ? 507 : 500 };
}

if (globalThis.document === undefined && "importScripts" in globalThis) serve(/** @type {any} */ (globalThis));
