/** A page beside the Stage as the picture of a lesson. What such a page shows is in its address, so the address is what it says. */

import { rootOf } from "../shared/log/root.js";
import { createPicture } from "./picture.js";

/** How often the address is looked at, in ms: browsers do not say when a page changes its own. */
const LOOK_MS = 200;

/** @returns {Object} the page's name, its address, and the parameters of both parts of it */
export function pageShows({ pathname, search, hash }, root = "/") {
  const path = pathname.slice(root.length - 1).replace(/^\/embed/, "");
  const fields = [...new URLSearchParams(search), ...new URLSearchParams(hash.replace(/^#/, ""))];
  return {
    page: path.split("/")[1],
    address: `${path}${search}${hash}`,
    ...Object.fromEntries(fields.map(([name, text]) => [name, /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text])),
  };
}

/** @param {{window: Window, setTheme: (theme: string) => void}} parts @returns {() => void} ends it */
export function joinLesson({ window, setTheme }) {
  document.documentElement.dataset.lesson = "true";
  const picture = createPicture({
    window,
    read: () => pageShows(window.location, rootOf(document)),
    commands: { theme: ({ theme }) => setTheme(theme) },
  });
  picture.tell();
  const timer = window.setInterval(picture.tell, LOOK_MS);
  return () => {
    window.clearInterval(timer);
    picture.dispose();
  };
}
