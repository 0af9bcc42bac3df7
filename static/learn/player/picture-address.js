/** The address of the frame that shows a step. Pure. */

/** Pages that a sandboxed or foreign frame may show. */
const FRAMED = ["by-hand", "memory", "serving"];

/**
 * @param {string|null} at the step's address
 * @param {{run: string|null, session: string|null, own: boolean, framed: boolean}} lesson `own`: `run` is the viewer's
 * @returns {{document: string, hash: string, place: Object<string, string>, address: string}|null} `document`: of the frame, which
 *   stays loaded while it is the same; `hash`: what it opens at; `place`: of the Stage, the same as values; null: the step has no picture
 */
export function pictureOf(at, { run, session, own, framed }) {
  if (!at) return null;
  const { pathname, search, hash } = new URL(at, "http://lesson");
  const place = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const page = pathname.split("/")[1];
  if (page === "") {
    const [path, query] = stageOf({ run, session, own, framed });
    return {
      document: `${path}?${query}lesson=1`,
      hash,
      place,
      address: `${path}${query ? `?${query.slice(0, -1)}` : ""}${hash}`,
    };
  }
  const path = framed && FRAMED.includes(page) ? `/embed${pathname}` : pathname;
  const query = search ? `${search}&lesson=1` : "?lesson=1";
  return { document: `${path}${query}${hash}`, hash: "", place: {}, address: at };
}

function stageOf({ run, session, own, framed }) {
  if (framed) return [`/embed/${session}`, ""];
  return own || !session ? ["/", `run=${encodeURIComponent(run)}&`] : [`/s/${session}`, ""];
}
