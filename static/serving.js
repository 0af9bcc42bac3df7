/** The engine while it answers several requests at once: `/serving`, and the same inside other pages. */

import { io } from "socket.io-client";
import { mountOwnPage } from "./embed/own-page.js";
import { createClient } from "./log/client.js";
import { Page } from "./serving/page/page.js";
import { createDeleteTokens, OF_RUNS } from "./state/delete-tokens.js";
import { storageOr } from "./state/storage.js";
import { tokenOf } from "./state/token.js";
import { visitorOf } from "./state/visitor.js";

const { framed, limits } = JSON.parse(document.getElementById("bootstrap").textContent);
const settings = storageOr(() => window.localStorage);

/** Out of the address before that is written anew. */
const token = framed ? null : tokenOf(window, settings);
/** Who asks. A guest of another page says nothing: it only reads what is open to everybody. */
const identity = framed
  ? {}
  : {
      "X-KVScope-Client": visitorOf(settings, () => crypto.getRandomValues(new Uint8Array(16))),
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    };

/** Who hears where a workload stands in line. */
let hearsWaits = (_waits) => {};

const client = createClient({
  fetch: window.fetch.bind(window),
  connect: () => io({ transports: ["websocket"] }),
  tokens: createDeleteTokens(settings, OF_RUNS),
  onWaits: (waits) => hearsWaits(waits),
  delay: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  identity: () => identity,
});
const hearWaits = (listener) => {
  hearsWaits = listener;
};
mountOwnPage(Page, { framed, settings, props: { client, limits, hearWaits } });
