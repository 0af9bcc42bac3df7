/** The page of worked examples: `/by-hand/<example>`, and the same inside other pages. */

import { html } from "htm/preact";
import { Page } from "./by-hand/page.js";
import { mountOwnPage } from "./embed/own-page.js";
import { Later } from "./shared/painting/later.js";
import { createQueue } from "./shared/painting/queue.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { storageOr } from "./shared/state/storage.js";

const { framed, ...props } = bootstrapOf();
const later = createQueue({ requestFrame: window.requestAnimationFrame.bind(window), now: () => performance.now() });

function Whole(page) {
  return html`<${Later.Provider} value=${later}><${Page} ...${page} /><//>`;
}

mountOwnPage(Whole, { framed, settings: storageOr(() => window.localStorage), props });
