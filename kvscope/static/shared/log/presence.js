/** Reports when a page may have missed something: it was asleep, in the background, or its network changed. */

/**
 * @param {Window} window
 * @param {(how: "back"|"offline") => void} listener "back": read at once what the page may have missed
 * @returns {() => void} removes the listeners
 */
export function followPresence(window, listener) {
  const { document } = window;
  const back = () => listener("back");
  const shown = () => document.visibilityState === "visible" && back();
  const restored = (event) => event.persisted && back();
  const offline = () => listener("offline");
  /** @type {[EventTarget, string, (event: any) => void][]} */
  const listeners = [
    [window, "online", back],
    [window, "offline", offline],
    [window, "pageshow", restored],
    [document, "visibilitychange", shown],
    [document, "resume", back],
  ];
  for (const [target, name, handler] of listeners) target.addEventListener(name, handler);
  return () => {
    for (const [target, name, handler] of listeners) target.removeEventListener(name, handler);
  };
}
