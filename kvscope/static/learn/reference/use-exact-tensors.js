/** Loads exact values of recorded runs, if the server runs their model: an embedding, and K of one layer. */

import { useEffect, useState } from "preact/hooks";
import { decodeSafetensors } from "../../shared/log/frames.js";
import { problemOf } from "../../shared/log/problem.js";
import { fetchUnder } from "../../shared/log/root.js";
import { layerOf } from "./tensors.js";

/**
 * @param {Object} client
 * @param {Object[]} runs saved, complete runs
 * @param {Object|null} model that the server runs; null: none yet
 * @returns {{exact: {row: number[], keys: Float32Array[][]}|null, status: string, problem: string}} `status`:
 *   "none" if the server runs another model, "waiting", "loading", "ready" or "failed"
 */
export function useExactTensors(client, runs, model) {
  const [state, setState] = useState({ exact: null, status: "loading", problem: "" });
  const name = runs.map(({ id }) => id).join();
  const same = model !== null && runs.length > 0 && runs.every(({ open }) => open.model.sha256 === model.sha256);
  useEffect(() => {
    if (!same) return undefined;
    let disposed = false;
    load(client, runs).then(
      (exact) => disposed || setState({ exact, status: "ready", problem: "" }),
      (error) => disposed || setState({ exact: null, status: "failed", problem: error.message }),
    );
    return () => {
      disposed = true;
    };
  }, [client, name, same]);
  if (!same) return { exact: null, status: model === null ? "waiting" : "none", problem: "" };
  return state;
}

async function load(client, runs) {
  const keys = [];
  for (const run of runs) keys.push(await keysOf(run));
  const { row } = await client.embedding({ token: runs[0].tokens[0].id });
  return { row, keys };
}

/** Returns K of each KV head at the last step. */
async function keysOf(run) {
  const { heads, kv_heads: kvHeads } = run.open.model;
  const keys = [];
  for (let head = 0; head < kvHeads; head++) {
    const query = new URLSearchParams({
      step: String(run.steps.length - 1),
      layer: String(layerOf(run.open.model)),
      head: String((head * heads) / kvHeads),
    });
    const response = await fetchUnder(`/api/sessions/${encodeURIComponent(run.saved.id)}/head?${query}`);
    if (!response.ok) throw await problemOf(response);
    keys.push(decodeSafetensors(new Uint8Array(await response.arrayBuffer())).tensors.k.data);
  }
  return keys;
}
