/** Polls the models of a server that has several, while one of them is loading or a run waits for one. */

import { createPolling } from "../../shared/state/polling.js";
import { modelFailed } from "../../shared/state/readiness.js";
import { msg } from "../../shared/words/msg.js";
import { chosenModel, isOnItsWay, modelOfRun, readinessOf } from "../facts/models.js";

const POLL_MS = 400;

/** Takes and returns the same as `createReadiness`. */
export function createModelPolling({ store, client, delay, onReady }) {
  const { dispatch, state } = store;

  const ask = async () => {
    try {
      const { models } = await client.models();
      dispatch({ type: "models", models });
      dispatch({ type: "readiness", readiness: readinessOf(modelOfRun(state())) });
    } catch {
      dispatch({ type: "readiness", readiness: { state: "unreachable" } });
    }
  };

  /** Starts the run that waits for its model, or refuses it with the reason. */
  const start = () => {
    const next = chosenModel(state());
    if (!state().held || !next) return;
    if (next.refusal) dispatch({ type: "problem", problem: refused(next.refusal) });
    // A start loads a model that the server has unloaded meanwhile.
    else if (["ready", "unloaded"].includes(next.state)) onReady();
    else if (next.state === "failed") dispatch({ type: "problem", problem: modelFailed(next) });
  };

  const decide = () => {
    start();
    const { held, models, readiness } = state();
    return held || models.some(isOnItsWay) || readiness.state === "unreachable" ? POLL_MS : null;
  };

  return createPolling({ ask, decide, delay });
}

const refused = (detail) => ({ title: msg`The model cannot be used`, detail });
