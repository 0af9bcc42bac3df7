/** A hint beside an element while it is hovered, focused or tapped, such as a term's definition. */

import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Delays in ms: a pointer that only passes does not open the hint, and a pointer that leaves has time to reach the hint. */
const OPEN_MS = 140;
const CLOSE_MS = 160;
/** Distance from the element, and from the window's edges, in CSS pixels. */
const GAP_PX = 7;
const EDGE_PX = 8;
/** The hint closes when its element moves by more than this, in CSS pixels. */
const MOVED_PX = 2;

/**
 * @param {Object} content for `HintBody`; null: nothing opens
 * @returns {{open: boolean, setOpen: Function, props: Object}} `props` go on the element: ref, handlers, aria-describedby
 */
export function useHint(content) {
  const anchor = useRef(null);
  const timer = useRef(0);
  const [open, setOpen] = useState(false);
  const id = useId();
  const shown = open && content !== null;

  const after = (ms, value) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setOpen(value), ms);
  };
  const keep = () => clearTimeout(timer.current);
  const leave = () => after(CLOSE_MS, false);

  useEffect(() => () => clearTimeout(timer.current), []);
  useLayoutEffect(() => {
    if (!shown) return undefined;
    const close = () => setOpen(false);
    const remove = showHint(anchor.current, { id, content, keep, leave });
    const unlisten = closeWhenLeft(anchor.current, close);
    return () => {
      unlisten();
      remove();
    };
  }, [shown, content?.title, content?.text]);

  const props = {
    ref: anchor,
    "aria-describedby": shown ? id : undefined,
    onPointerEnter: (event) => event.pointerType === "mouse" && after(OPEN_MS, true),
    onPointerLeave: (event) => event.pointerType === "mouse" && leave(),
    onFocus: (event) => {
      if (!event.currentTarget.matches(":focus-visible")) return;
      keep(); // the focus may return before the delayed close
      setOpen(true);
    },
    onBlur: () => after(0, false),
  };
  return { open: shown, setOpen, props };
}

/** Shows the hint in the top layer, so that no panel clips it. @returns {() => void} removes it */
function showHint(anchor, { id, content, keep, leave }) {
  const box = document.createElement("div");
  Object.assign(box, { id, className: "hint popover", popover: "manual", onpointerenter: keep, onpointerleave: leave });
  box.setAttribute("role", "tooltip");
  document.body.append(box);
  render(html`<${HintBody} ...${content} />`, box);
  box.showPopover();
  placeHint(box, anchor.getBoundingClientRect());
  return () => {
    render(null, box);
    box.remove();
  };
}

function HintBody({ title, text }) {
  return html`<strong>${title}</strong><span>${text}</span>`;
}

function placeHint(box, { left, top, bottom }) {
  const { width, height } = box.getBoundingClientRect();
  // On a zoomed page, lengths set on an element are scaled too.
  const magnified = width / box.offsetWidth;
  const below = bottom + GAP_PX + height + EDGE_PX <= window.innerHeight;
  const x = Math.max(EDGE_PX, Math.min(left, window.innerWidth - width - EDGE_PX));
  const y = below ? bottom + GAP_PX : Math.max(EDGE_PX, top - GAP_PX - height);
  Object.assign(box.style, { left: `${x / magnified}px`, top: `${y / magnified}px` });
}

/** Closes the hint on Esc, which then has no other effect, on a press elsewhere, and when the element moves away. */
function closeWhenLeft(anchor, close) {
  const before = anchor.getBoundingClientRect();
  const hasMoved = () => {
    const { left, top } = anchor.getBoundingClientRect();
    return Math.hypot(left - before.left, top - before.top) > MOVED_PX;
  };
  const onKey = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    event.preventDefault();
    close();
  };
  const onPress = (event) => anchor.contains(event.target) || close();
  // Scrolling without movement of the element does not count: the chips scroll with every step played, and the browser scrolls
  // to hold the text in place when content above grows. An event may also come from a scroll before the hint opened.
  const onScroll = (event) => event.target.contains(anchor) && hasMoved() && close();
  const listeners = [
    ["keydown", onKey],
    ["pointerdown", onPress],
    ["scroll", onScroll],
    ["resize", close],
  ];
  for (const [name, listener] of listeners) window.addEventListener(name, listener, true);
  return () => {
    for (const [name, listener] of listeners) window.removeEventListener(name, listener, true);
  };
}
