/** The memory calculator: `/memory`, and the same inside other pages. */

import { mountOwnPage } from "./embed/own-page.js";
import { Page } from "./memory/page/page.js";
import { storageOr } from "./state/storage.js";
import { tokenOf } from "./state/token.js";
import { visitorOf } from "./state/visitor.js";

const { framed, ...known } = JSON.parse(document.getElementById("bootstrap").textContent);
const settings = storageOr(() => window.localStorage);

/** Out of the address before that is written anew. */
const token = framed ? null : tokenOf(window, settings);

/** Who asks for the machine to be measured; a guest of another page never does. */
function identity() {
  const visitor = visitorOf(settings, () => crypto.getRandomValues(new Uint8Array(16)));
  return { "X-KVScope-Client": visitor, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
}

mountOwnPage(Page, { framed, settings, props: { known, identity } });
