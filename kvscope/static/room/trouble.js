/** What is wrong with a room, in words. The picture stays. */

import { html } from "htm/preact";
import { isHere } from "../shared/log/device.js";
import { msg } from "../shared/words/msg.js";

/** @param {{state: Object}} props */
export function Trouble({ state }) {
  const text = troubleIn(state);
  return html`<div class="room-trouble" role="alert">${text && html`<p>${text}</p>`}</div>`;
}

function troubleIn({ over, connected, secret, problem, shown }) {
  if (over === "ended") return msg`The room has ended, and its answers are deleted. The page stays: look around.`;
  if (over) return msg`This room is no longer open. The page stays: look around.`;
  if (!connected)
    return secret
      ? msg`Connection lost. The followers keep what you showed last; reconnecting…`
      : `${problem?.detail ?? ""} ${msg`Connection lost. The picture stays; reconnecting…`}`.trim();
  if (secret && isHere({ id: shown?.stage?.run }))
    return msg`Only this device has this run, so the followers cannot see it. Run the prompt on the server to show it.`;
  if (secret && shown?.lesson?.own)
    return msg`The followers’ lesson keeps its own run: they do not see this one. Show it outside the lesson.`;
  if (problem) return problem.detail || problem.title;
  return null;
}
