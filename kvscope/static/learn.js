/** Lessons: `/learn` with their list, `/learn/<lesson>` beside the live page, and a lesson inside other pages. */

import { html } from "htm/preact";
import { mountOwnPage } from "./embed/own-page.js";
import { isPicture } from "./embed/picture.js";
import { Contents } from "./learn/contents/contents.js";
import { isLarge } from "./learn/player/large-type.js";
import { Player } from "./learn/player/player.js";
import { progressOn } from "./learn/player/progress.js";
import { ON_DISK } from "./shared/log/root.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { identityOf } from "./shared/state/identity.js";
import { presentOfSearch } from "./shared/state/location.js";
import { storageOr } from "./shared/state/storage.js";

const { framed, lessons, lesson, file = false, scorm = null, paths = [], questions = [] } = bootstrapOf();
const settings = storageOr(() => window.localStorage);
const present = presentOfSearch(window.location.search) || (!framed && isLarge(settings));

// In a room, everyone begins without answers, and the presenter's steps are not the viewer's progress.
const storage = isPicture(window) ? storageOr(() => null) : settings;
const progress = lesson && (await progressIn(progressOn(storage, lesson.id)));

/** @returns {Promise<import("./learn/player/progress.js").Progress>} that of a package is kept by the learning system around it */
async function progressIn(own) {
  if (!scorm) return own;
  const { recordIn } = await import("./learn/scorm/record.js");
  return recordIn({ window, version: scorm, lesson, own, onDisk: ON_DISK });
}

function Page({ lesson, ...props }) {
  return lesson ? html`<${Player} given=${lesson} ...${props} />` : html`<${Contents} ...${props} />`;
}

mountOwnPage(Page, {
  framed,
  settings,
  props: {
    lessons,
    lesson,
    file,
    packaged: scorm !== null,
    present,
    paths,
    questions,
    settings,
    progress,
    identity: identityOf(settings, framed || file),
  },
});
