/** The search and the help over the Stage. Playback pauses behind them. */

import { KEYS } from "../../shared/state/keyboard.js";
import { openHelp, openSearch } from "../../shared/ui/overlay.js";

export function openStageSearch(state, dispatch) {
  dispatch({ type: "pause" });
  openSearch({ newTab: isFramed(state) });
}

export function openStageHelp(state, dispatch) {
  dispatch({ type: "pause" });
  openHelp({ keys: KEYS, guide: true, newTab: isFramed(state) });
}

/** A frame stays at its run. */
function isFramed({ embed, sandboxed }) {
  return embed !== null || sandboxed;
}
