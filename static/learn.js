/** Lessons: `/learn` with their list, `/learn/<lesson>` beside the live page, and a lesson inside other pages. */

import { mountOwnPage } from "./embed/own-page.js";
import { Page } from "./learn/page.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { identityOf } from "./shared/state/identity.js";
import { storageOr } from "./shared/state/storage.js";

const { framed, lessons, lesson, file = false, paths = [], questions = [] } = bootstrapOf();
const settings = storageOr(() => window.localStorage);
mountOwnPage(Page, {
  framed,
  settings,
  props: { lessons, lesson, file, paths, questions, settings, identity: identityOf(settings, framed || file) },
});
