/** Polls the models of a server that has several, while one of them is loading or a run waits for one. */

import { modelFailed } from "../../shared/state/readiness.js";
import { msg } from "../../shared/words/msg.js";
import { chosenModel, isOnItsWay, modelOfRun, readinessOf } from "../facts/models.js";

const POLL_MS = 400;

/**
 * Takes and returns the same as `createReadiness`. While it polls, `poll` makes it ask once more: the models may have changed.
 */
export function createModelPolling({ store, client, delay, onReady }) {
  const { dispatch, state } = store;
  let polling = false;
  let again = false;
  let disposed = false;

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
  const decide = () => {
    const next = chosenModel(state());
    if (!state().held || !next) return;
    if (next.refusal) dispatch({ type: "problem", problem: refused(next.refusal) });
    // A start loads a model that the server has unloaded meanwhile.
    else if (["ready", "unloaded"].includes(next.state)) onReady();
    else if (next.state === "failed") dispatch({ type: "problem", problem: modelFailed(next) });
  };

  const poll = async () => {
    again = true;
    if (polling) return;
    polling = true;
    while (!disposed && again) {
      again = false;
      await ask();
      if (disposed) break;
      decide();
      if (again) continue;
      const { held, models, readiness } = state();
      again = held || models.some(isOnItsWay) || readiness.state === "unreachable";
      if (again) await delay(POLL_MS);
    }
    polling = false;
  };

  return {
    poll,
    dispose() {
      disposed = true;
    },
  };
}

const refused = (detail) => ({ title: msg`The model cannot be used`, detail });
