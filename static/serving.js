/** The engine while it answers several requests at once: `/serving`, a saved workload, and both inside other pages or in a file. */

import { mountOwnPage } from "./embed/own-page.js";
import { Page } from "./serving/page/page.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { clientOf } from "./shared/state/page-client.js";
import { storageOr } from "./shared/state/storage.js";

const { framed = false, limits, session: saved = null, example = null } = bootstrapOf();
const settings = storageOr(() => window.localStorage);

/** Who hears where a workload stands in line. */
let hearsWaits = (_waits) => {};

const client = clientOf(
  { settings, saved, stranger: framed || saved?.file === true },
  { onWaits: (waits) => hearsWaits(waits) },
);
const hearWaits = (listener) => {
  hearsWaits = listener;
};
mountOwnPage(Page, { framed, settings, props: { client, limits, hearWaits, saved, example } });
