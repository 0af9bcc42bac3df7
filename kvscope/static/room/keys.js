/** The keys of a room. They also work in the page that it shows, where no page has them. */

import { msg } from "../shared/words/msg.js";

/** `run` gets {controller, store}. */
export const KEYS = [
  {
    keys: ["r"],
    label: "r",
    text: msg`Return to the presenter`,
    run: ({ controller, store }) => store.state().away && controller.comeBack(),
  },
];
