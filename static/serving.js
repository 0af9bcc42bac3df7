/** The engine while it answers several requests at once: `/serving`, a saved workload, and both inside other pages or in a file. */

import { mountOwnPage } from "./embed/own-page.js";
import { createClient } from "./log/client.js";
import { connect } from "./log/connect.js";
import { fileSource } from "./log/file-source.js";
import { fetchUnder } from "./log/root.js";
import { upload } from "./log/upload.js";
import { Page } from "./serving/page/page.js";
import { createDeleteTokens, OF_RUNS, OF_SHARED } from "./state/delete-tokens.js";
import { storageOr } from "./state/storage.js";
import { tokenOf } from "./state/token.js";
import { visitorOf } from "./state/visitor.js";

const textOf = (id) => document.getElementById(id)?.textContent ?? null;
const { framed = false, limits, session: saved = null, example = null } = JSON.parse(textOf("bootstrap"));
const inFile = saved?.file === true;
const settings = storageOr(() => window.localStorage);

/** What is inside a page that was saved as a file. */
function fetchFromFile() {
  const [manifest, glossary] = ["manifest", "glossary"].map((id) => JSON.parse(textOf(id)));
  return fileSource({ manifest, glossary, textOf, subtle: window.crypto.subtle });
}

const stranger = framed || inFile;
/** Out of the address before that is written anew. */
const token = stranger ? null : tokenOf(window, settings);
/** Who asks. A guest of another page says nothing: it only reads what is open to everybody. */
const identity = stranger
  ? {}
  : {
      "X-KVScope-Client": visitorOf(settings, () => crypto.getRandomValues(new Uint8Array(16))),
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
    };

/** Who hears where a workload stands in line. */
let hearsWaits = (_waits) => {};

const client = createClient({
  fetch: inFile ? fetchFromFile() : fetchUnder,
  upload,
  connect,
  saved,
  tokens: createDeleteTokens(settings, OF_RUNS),
  sharings: createDeleteTokens(settings, OF_SHARED),
  onWaits: (waits) => hearsWaits(waits),
  delay: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  identity: () => identity,
});
const hearWaits = (listener) => {
  hearsWaits = listener;
};
mountOwnPage(Page, { framed, settings, props: { client, limits, hearWaits, saved, example } });
