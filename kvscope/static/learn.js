/** Lessons: `/learn` with their list, `/learn/<lesson>` beside the live page, and a lesson inside other pages. */

import { mountOwnPage } from "./embed/own-page.js";
import { Page } from "./learn/page.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { identityOf } from "./shared/state/identity.js";
import { presentOfSearch } from "./shared/state/location.js";
import { storageOr } from "./shared/state/storage.js";

const { framed, lessons, lesson, file = false, paths = [], questions = [] } = bootstrapOf();
const settings = storageOr(() => window.localStorage);
const present = presentOfSearch(window.location.search);
if (present) document.documentElement.dataset.present = "true";
mountOwnPage(Page, {
  framed,
  settings,
  props: { lessons, lesson, file, present, paths, questions, settings, identity: identityOf(settings, framed || file) },
});
