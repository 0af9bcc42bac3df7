/** Lessons: `/learn` with their list, `/learn/<lesson>` beside the live page, and a lesson inside other pages. */

import { html } from "htm/preact";
import { mountOwnPage } from "./embed/own-page.js";
import { Contents } from "./learn/contents/contents.js";
import { isLarge } from "./learn/player/large-type.js";
import { Player } from "./learn/player/player.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { identityOf } from "./shared/state/identity.js";
import { presentOfSearch } from "./shared/state/location.js";
import { storageOr } from "./shared/state/storage.js";

const { framed, lessons, lesson, file = false, paths = [], questions = [] } = bootstrapOf();
const settings = storageOr(() => window.localStorage);
const present = presentOfSearch(window.location.search) || (!framed && isLarge(settings));

function Page({ lesson, ...props }) {
  return lesson ? html`<${Player} given=${lesson} ...${props} />` : html`<${Contents} ...${props} />`;
}

mountOwnPage(Page, {
  framed,
  settings,
  props: { lessons, lesson, file, present, paths, questions, settings, identity: identityOf(settings, framed || file) },
});
