/** Says when a page may have missed something: it was asleep or in the background, or its network is another one. */

/**
 * @param {Window} window
 * @param {(how: "back"|"offline") => void} listener "back": look at once what has come meanwhile
 * @returns {() => void} ends it
 */
export function followPresence(window, listener) {
  const { document } = window;
  const back = () => listener("back");
  const shown = () => document.visibilityState === "visible" && back();
  const restored = (event) => event.persisted && back();
  const offline = () => listener("offline");
  /** @type {[EventTarget, string, (event: any) => void][]} */
  const listened = [
    [window, "online", back],
    [window, "offline", offline],
    [window, "pageshow", restored],
    [document, "visibilitychange", shown],
    [document, "resume", back],
  ];
  for (const [target, name, each] of listened) target.addEventListener(name, each);
  return () => {
    for (const [target, name, each] of listened) target.removeEventListener(name, each);
  };
}
