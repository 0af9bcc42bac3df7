/**
 * Moves the frame to the place of the room, and the room to the place of a presenter's frame. A page that a message moves passes through
 * other places on its way, and a run that plays moves by itself: what it shows then is nobody's choice, and neither sent nor taken for looking
 * around. A presenter's frame is sent only after a touch.
 */

import { isSamePlace, mayShowPlace, placeOf, waitBefore, waysTo, withoutStep } from "./place.js";

/** A page that is not there after this time stays as it is: its recording may be missing, or it is too small for that view. */
const LONGEST_MS = 10_000;
/** How long after a key or a press a change of the page is the viewer's. */
const TOUCH_MS = 4000;

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.frame of `createFrame`
 * @param {() => number} parts.now in ms
 * @param {(place: import("./place.js").Place) => Promise<boolean>} parts.show sends a place to the room; resolves to whether it has to be sent again
 * @param {(callback: () => void, ms: number) => any} parts.later
 */
export function createMoving({ store, frame, now, show, later }) {
  const { state, dispatch } = store;
  /** Until when the frame is on its way to the room's place. */
  let until = 0;
  let tried = "";
  let touched = Number.NEGATIVE_INFINITY;
  /** Whether the presenter has touched the frame since the room moved it. */
  let led = false;
  /** Where the frame was when it arrived, or was touched. */
  let base = null;
  /** The last place that was sent, and when. */
  let sent = null;
  let sentAt = Number.NEGATIVE_INFINITY;
  let sending = false;
  let waiting = false;

  const arrive = () => {
    until = 0;
    base = state().shown && placeOf(state().shown);
  };

  const step = () => {
    const { room, shown } = state();
    const ways = waysTo(room.place, shown);
    const text = JSON.stringify(ways);
    if (!ways.length || now() > until) arrive();
    else if (text !== tried) {
      tried = text;
      for (const { open, move, send } of ways) {
        if (open) dispatch({ type: "open", address: open });
        if (move) frame.move(move);
        if (send) frame.send(send);
      }
    }
  };

  const go = () => {
    until = now() + LONGEST_MS;
    tried = "";
    touched = Number.NEGATIVE_INFINITY;
    led = false;
    step();
  };

  const tell = async () => {
    const { room, shown, secret, connected, over } = state();
    if (!secret || !led || !shown || !room || over || sending || until || !connected) return;
    const place = placeOf(shown);
    if (isSamePlace(place, base) || isSamePlace(place, room.place) || !mayShowPlace(place)) return;
    const wait = sent ? waitBefore(shown, sent, now() - sentAt) : 0;
    if (wait > 0) tellAfter(wait);
    else await send(place, room.seq);
  };

  const tellAfter = (wait) => {
    if (waiting) return;
    waiting = true;
    later(() => {
      waiting = false;
      tell();
    }, wait);
  };

  const send = async (place, seq) => {
    sending = true;
    base = place;
    [sent, sentAt] = [place, now()];
    const again = await show(place);
    sending = false;
    const { room, shown, secret } = state();
    if (!secret) return;
    if (again) base = null;
    // Another presenter has shown another place meanwhile.
    const isApart = !isSamePlace(room.place, place) && !isSamePlace(room.place, shown && placeOf(shown));
    if (!again && room.seq !== seq && isApart) go();
    else tell();
  };

  return {
    go,
    tell,
    /** @param {Object|null} before the place of the room until now */
    onRoom(before) {
      const { room, away, secret } = state();
      // What this page sends comes back to it; `send` looks at what came meanwhile.
      if (away || isSamePlace(before, room.place) || (secret && sending)) return;
      go();
    },
    onShown() {
      const { secret, away, shown } = state();
      if (until) step();
      if (until) return;
      if (secret) tell();
      else if (!away && base && now() - touched < TOUCH_MS && hasLeft(base, shown))
        dispatch({ type: "away", away: true });
    },
    onTouch() {
      const { shown, secret, away } = state();
      // A tap may only scroll: it does not keep a follower's frame from the room's place.
      if (until && !secret && !away) return;
      touched = now();
      if (shown && !(secret && led)) arrive();
      led = true;
    },
  };
}

/** Whether the viewer has changed the place. A run that plays moves by itself. */
function hasLeft(base, shown) {
  const place = placeOf(shown);
  if (base.playing && place.playing) return withoutStep(base.address) !== withoutStep(place.address);
  return base.address !== place.address || base.within !== place.within || base.playing !== place.playing;
}
