/** The search and the help over the Stage. Playback pauses behind them. */

import { openHelp, openSearch } from "../../shared/ui/overlay.js";
import { KEYS } from "../state/keyboard.js";

export function openStageSearch(dispatch) {
  dispatch({ type: "pause" });
  openSearch();
}

export function openStageHelp(dispatch) {
  dispatch({ type: "pause" });
  openHelp({ keys: KEYS, guide: true });
}
