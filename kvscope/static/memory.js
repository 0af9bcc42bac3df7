/** The memory calculator: `/memory`, and the same inside other pages. */

import { mountOwnPage } from "./embed/own-page.js";
import { Page } from "./memory/page/page.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { identityOf } from "./shared/state/identity.js";
import { storageOr } from "./shared/state/storage.js";

const { framed, ...known } = bootstrapOf();
const settings = storageOr(() => window.localStorage);
const identity = identityOf(settings, framed);
mountOwnPage(Page, { framed, settings, props: { known, identity: () => identity } });
