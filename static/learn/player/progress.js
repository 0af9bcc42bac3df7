/** How far the viewer is in each lesson, stored on this device only. */

const NAME = "kvscope.lessons";

/** @param {{getItem: Function, setItem: Function}} storage @returns {Object<string, {step: number, done: number[]}>} by lesson */
export function readProgress(storage) {
  try {
    const found = JSON.parse(storage.getItem(NAME) ?? "{}");
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}

/** @param {{step: number, done: number[]}} reached */
export function writeProgress(storage, id, reached) {
  storage.setItem(NAME, JSON.stringify({ ...readProgress(storage), [id]: reached }));
}
