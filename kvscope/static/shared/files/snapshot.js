/** Pictures of a panel, and downloads. */

/** Pixels of a picture per pixel of the page. */
export const IMAGE_SCALE = 2;
/** Time for a started download to open its data, in ms. */
const REVOKE_MS = 10_000;

/**
 * @param {Element} panel
 * @param {(element: Element) => boolean} wanted false for elements left out of the picture
 * @returns {Promise<Blob>} PNG, at twice the panel's size
 */
export async function pngOf(panel, wanted) {
  const { domToBlob } = await import("modern-screenshot");
  return domToBlob(panel, { ...(await options(panel, wanted)), scale: IMAGE_SCALE, type: "image/png" });
}

/**
 * @param {Element} panel
 * @returns {Promise<HTMLCanvasElement>} the panel at twice its size, with its lists scrolled as they are
 */
export async function canvasOf(panel) {
  const { domToCanvas } = await import("modern-screenshot");
  const all = await options(panel, (element) => element.localName !== "noscript");
  return domToCanvas(panel, { ...all, scale: IMAGE_SCALE, features: { restoreScrollPosition: true } });
}

/** @returns {Promise<Blob>} SVG that holds the panel as a foreign object: for browsers, not for drawing programs */
export async function svgOf(panel, wanted) {
  const { domToForeignObjectSvg } = await import("modern-screenshot");
  const svg = await domToForeignObjectSvg(panel, await options(panel, wanted));
  return new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
}

/** Returns the options for a picture of the whole panel, including what is scrolled out of view, on the page's background. */
async function options(panel, wanted) {
  const { backgroundColor } = getComputedStyle(document.documentElement);
  return {
    backgroundColor,
    width: panel.scrollWidth,
    height: panel.scrollHeight,
    style: { overflow: "visible", margin: "0" },
    onCloneEachNode: withoutScrollbars,
    filter: (node) => !(node instanceof Element) || wanted(node),
    // The library would read fonts through a style element, which the page's security policy forbids.
    font: { cssText: await fontsFor(panel.textContent) },
  };
}

/** Hides scrollbars, which are useless in a picture and would take space from the content. */
function withoutScrollbars(clone) {
  if (clone instanceof HTMLElement) clone.style.overflow &&= "hidden";
}

/** @returns {Promise<string>} the page's @font-face rules that some text needs, with their files inside */
async function fontsFor(text) {
  const faces = [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules].map((rule) => ({ rule, base: sheet.href })))
    .filter(({ rule }) => rule instanceof CSSFontFaceRule)
    .filter(({ rule }) =>
      rangesCover(/** @type {CSSFontFaceRule} */ (rule).style.getPropertyValue("unicode-range"), text),
    );
  const written = await Promise.all(faces.map(({ rule, base }) => withFile(rule.cssText, base)));
  return written.join("\n");
}

async function withFile(cssText, base) {
  const [whole, address] = /url\("([^"]+)"\)/.exec(cssText);
  if (address.startsWith("data:")) return cssText;
  const response = await fetch(new URL(address, base));
  return cssText.replace(whole, `url("${await dataUrl(await response.blob())}")`);
}

function dataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** Saves a blob under a name, as a click on a download link does. */
export function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_MS);
}

/** @param {Promise<Blob>} picture PNG; a promise, because browsers allow the copy only directly after the click */
export function copyPicture(picture) {
  return navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
}

/**
 * @param {string} ranges such as "U+0-FF, U+131, U+4??"; "" covers everything
 * @param {string} text
 * @returns {boolean} whether some character of the text is in one of the ranges
 */
export function rangesCover(ranges, text) {
  const spans = ranges.split(",").map((range) => spanOf(range.trim()));
  if (ranges.trim() === "") return text.length > 0;
  for (const character of text) {
    const code = character.codePointAt(0);
    if (spans.some(([low, high]) => code >= low && code <= high)) return true;
  }
  return false;
}

function spanOf(range) {
  const [low, high = low] = range.replace(/^u\+/i, "").split("-");
  return [Number.parseInt(low.replaceAll("?", "0"), 16), Number.parseInt(high.replaceAll("?", "f"), 16)];
}
