/** Requests about rooms (app/http/rooms.py). Each may throw Problem. */

import { answered } from "../shared/log/problem.js";
import { fetchUnder } from "../shared/log/root.js";

/** After this time a request counts as lost, in ms: the network may have changed under it. */
const LONGEST_MS = 8000;

/** @param {Object<string, string>} identity headers of `identityOf` */
export function createApi(identity) {
  const request = async (method, path, { body = null, secret = null } = {}) => {
    const headers = {
      ...identity,
      ...(body ? { "Content-Type": "application/json" } : {}),
      ...(secret ? { Authorization: `Bearer ${secret}` } : {}),
    };
    const options = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const response = await answered(async () => {
      const whole = await fetchUnder(`/api/rooms${path}`, { ...options, signal: AbortSignal.timeout(LONGEST_MS) });
      // The connection may also break within the body.
      await whole.clone().arrayBuffer();
      return whole;
    });
    return response.status === 204 ? null : response.json();
  };

  return {
    /** @returns {Promise<Object>} the new room, with its `secret` */
    open: (address) => request("POST", "", { body: { address } }),
    /** @returns {Promise<Object>} the room, as its followers get it */
    room: (code) => request("GET", `/${code}`),
    /** Sends a follower's answer. `voter`: a random id of this page. */
    answer: (code, question, answer, voter) => request("PUT", `/${code}/answer`, { body: { question, answer, voter } }),
    /** @returns what the holder of a room's secret may request; all but the last two return the room */
    presenting: (code, secret) => ({
      show: (place) => request("PUT", `/${code}/place`, { body: place, secret }),
      ask: (question) => request("PUT", `/${code}/question`, { body: question, secret }),
      askAgain: () => request("POST", `/${code}/question/again`, { secret }),
      reveal: () => request("POST", `/${code}/question/reveal`, { secret }),
      closeQuestion: () => request("DELETE", `/${code}/question`, { secret }),
      attendance: () => request("GET", `/${code}/attendance`, { secret }),
      end: () => request("DELETE", `/${code}`, { secret }),
    }),
  };
}
