/** The small run as an exported file and a static site hold it, and a client that plays it from there. */

import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import { createClient } from "../../../kvscope/static/shared/log/client.js";
import { encode, smallRun } from "./wire.js";

export const FRAMES = smallRun();
export const SEQS = FRAMES.map((_, seq) => seq);
export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
export const base64 = (bytes) => Buffer.from(bytes).toString("base64");

/** The texts of its frames, by their ids. */
export const PARTS = Object.fromEntries(FRAMES.map((payload, seq) => [`part-${seq}`, base64(deflateSync(payload))]));

/** Its manifest, with values of these steps and layers. */
export const manifestOf = (...stored) => ({
  id: "s1",
  parts: FRAMES.map((payload, seq) => ({ seq, bytes: payload.length, sha256: sha256(payload) })),
  values: {
    level: "qkv",
    parts: stored.map(([step, layer]) => ({ step, layer, sha256: sha256(values(step, layer)) })),
  },
});

export const values = (step, layer) =>
  encode({
    kind: "values",
    seq: step * 2 + layer,
    data: { step, layer, level: "qkv" },
    tensors: { q: ["F32", [1, 1, 1], [step + layer / 10]] },
  });

/** What a client has of the run when it has ended or a problem came, asked through `fetch`; it opens no socket. */
export function watched(fetch, saved = { id: "s1", run: "r1" }) {
  const got = { seqs: [], problems: [] };
  const client = createClient({ fetch, connect: null, saved, delay: async () => {} });
  return new Promise((resolve) => {
    client.watch("r1", -1, {
      onFrame({ seq, kind }) {
        got.seqs.push(seq);
        if (kind === "close") resolve(got);
      },
      onConnection() {},
      onProblem(problem) {
        got.problems.push(problem);
        resolve(got);
      },
    });
  });
}
