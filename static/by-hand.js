/** The page of worked examples: `/by-hand/<example>`, and the same inside other pages. */

import { Page } from "./by-hand/page.js";
import { mountOwnPage } from "./embed/own-page.js";
import { storageOr } from "./state/storage.js";

const { framed, ...props } = JSON.parse(document.getElementById("bootstrap").textContent);
mountOwnPage(Page, { framed, settings: storageOr(() => window.localStorage), props });
