/** The address of the frame that shows a step. Pure. */

/** Replaces the address of the page inside a saved file. */
export const INSIDE = "inside:";
/** Pages that a sandboxed or foreign frame may show. */
const FRAMED = ["by-hand", "memory", "serving"];

/**
 * @param {string|null} at the step's address
 * @param {{run: string|null, session: string|null, logged: boolean, own: boolean, framed: boolean, file?: boolean, present?: boolean}} lesson
 *   `logged`: whether `run` is in the server's log, so that experiments can start from it; `own`: whether it is the viewer's;
 *   `present`: in large type; `file`: the lesson is a saved file, which contains only the page of its session
 * @returns {{document: string, hash: string, place: Object<string, string>, address: string}|null} `document`: address of the frame,
 *   which stays loaded while it is the same; `hash`: the place that it opens at; `place`: this place as values, on the Stage; null: the
 *   step has no picture
 */
export function pictureOf(at, { run, session, logged, own, framed, file = false, present = false }) {
  if (!at) return null;
  const { pathname, search, hash } = new URL(at, "http://lesson");
  const place = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const page = pathname.split("/")[1];
  if (page === "") {
    const stage = file ? INSIDE : stageOf({ run, session, logged, own, framed, present });
    return { document: stage, hash, place, address: file ? at : `${stage}${hash}` };
  }
  if (file) return null;
  const path = framed && FRAMED.includes(page) ? `/embed${pathname}` : pathname;
  return { document: `${path}${search}${hash}`, hash: "", place: {}, address: at };
}

function stageOf({ run, session, logged, own, framed, present }) {
  if (framed) return `/embed/${session}`;
  const large = present ? "present=1" : "";
  if (own || logged || !session) return `/?run=${encodeURIComponent(run)}${large && `&${large}`}`;
  return `/s/${session}${large && `?${large}`}`;
}
