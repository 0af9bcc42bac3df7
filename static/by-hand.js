/** The page of worked examples: `/by-hand/<example>`, and the same inside other pages. */

import { Page } from "./by-hand/page.js";
import { mountOwnPage } from "./embed/own-page.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { storageOr } from "./shared/state/storage.js";

const { framed, ...props } = bootstrapOf();
mountOwnPage(Page, { framed, settings: storageOr(() => window.localStorage), props });
