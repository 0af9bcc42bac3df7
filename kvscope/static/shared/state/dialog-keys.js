/** The keys that work on every page. */

import { msg } from "../words/msg.js";

/** `run` gets {openSearch, openHelp}. */
export const DIALOG_KEYS = [
  { keys: ["/"], label: "/", text: msg`Search`, run: ({ openSearch }) => openSearch() },
  { keys: ["?"], label: "?", text: msg`Show this help`, run: ({ openHelp }) => openHelp() },
];
