/** What the engine needs to know of a log to answer questions about it. Pure. */

import { headerOf } from "../../shared/log/frames.js";

/**
 * @typedef {Object} Outline
 * @property {number[]} ids all tokens, the prompt's first
 * @property {number} prompt how many are the prompt's
 * @property {{firstQuery: number, queries: number}[]} steps the positions that each step computed
 * @property {[number, number][]} forced the tokens that a branch set: each with its step
 * @property {boolean} chat whether the prompt is in the chat template
 * @property {Object[]} changes of a changed run
 * @property {string} sha256 of the model that computed it
 *
 * @param {Iterable<Uint8Array>} payloads the frames of a log, in order
 * @returns {Outline}
 */
export function outlineOf(payloads) {
  /** @type {Outline} */
  const outline = { ids: [], prompt: 0, chat: false, steps: [], forced: [], changes: [], sha256: "" };
  for (const payload of payloads) {
    const { kind, data } = headOf(payload);
    if (kind === "open") {
      outline.ids = data.tokens.map(({ id }) => id);
      outline.prompt = outline.ids.length;
      outline.chat = data.chat;
      outline.changes = data.changed?.changes ?? [];
      outline.sha256 = data.model.sha256;
    } else if (kind === "step") {
      const last = outline.steps.at(-1);
      const firstQuery = last ? last.firstQuery + last.queries : 0;
      if (data.token.forced) outline.forced.push([data.step, data.token.id]);
      outline.steps.push({ firstQuery, queries: data.position + 1 - firstQuery });
      outline.ids.push(data.token.id);
    }
  }
  return outline;
}

/**
 * @param {string} id
 * @param {{payloads: Uint8Array[], closed: boolean}} log
 * @returns {Object} the answer to `GET /api/runs/<id>`, of which a part is that of a member of a family
 */
export function statusOf(id, { payloads, closed }) {
  const heads = payloads.map(headOf);
  const [{ data: opening }] = heads;
  const last = heads.at(-1);
  const { model, prompt, chat, sampling, limits, parent, created, study, changed, tokens } = opening;
  return {
    ...{ id, url: `/?run=${id}`, model, prompt, chat, sampling, limits, parent, created, study, changed },
    steps: heads.filter(({ kind }) => kind === "step").length,
    status: closed ? "closed" : "running",
    reason: closed ? last.data.reason : null,
    error: closed ? last.data.error : null,
    last_seq: payloads.length - 1,
    bytes: payloads.reduce((sum, { byteLength }) => sum + byteLength, 0),
    prompt_tokens: tokens.length,
  };
}

/** @returns {{kind: string, data: Object}} a frame without its tensors, which take longer to read than all else */
export function headOf(payload) {
  const { kind, data } = headerOf(payload).header.__metadata__;
  return { kind, data: JSON.parse(data) };
}
