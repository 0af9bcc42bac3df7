/**
 * Colours for drawings, read from the page's CSS custom properties, which define them.
 */

import { hcl } from "d3-color";
import { between, inkOn, isLight, pack, packed, ramp } from "./colours.js";

const PROPERTIES = {
  ...{ mono: "mono", sans: "sans", bg: "bg", panel: "panel", ink: "ink", muted: "muted", line: "line" },
  ...{ cached: "cached", computed: "computed", output: "output", weights: "weights" },
  ...{ attentionStops: "attention", attentionNowStops: "attention-now" },
  ...{ cachedInk: "cached-ink", computedInk: "computed-ink", outputInk: "output-ink" },
};

/** Rose below zero, olive above: hues with no other meaning on this page. */
const SIGNED = {
  light: ["#9c1657", "#d98bb1", "#f7f5f0", "#b6ba63", "#565f00"],
  dark: ["#ff86bb", "#9a4a73", "#262b36", "#727b2e", "#d6e16e"],
};
/** V is below K and slightly greener, so that both halves are easy to tell apart. */
const V_HUE_SHIFT = -38;

/** @param {CSSStyleDeclaration} style computed style of an element that has the properties */
export function readTheme(style) {
  return buildTheme(
    Object.fromEntries(
      Object.entries(PROPERTIES).map(([name, property]) => [
        name,
        style.getPropertyValue(`--${property}`).trim() || "#888",
      ]),
    ),
  );
}

/**
 * @param {Object<string, string>} colours CSS colours by name
 * @returns {Object} the colours, `dark`, text colours for three of them (`onCached` …), and ramps of 256 colours: `attention` of earlier steps, `attentionNow` and
 *   `signed` as CSS and packed, `ink` of the first two: their text colours,
 *   `cachedK`, `cachedV`, `computedCell`; packed: `track` of values that do not exist yet, `reserved`, `hollow` of values that were not stored
 */
function buildTheme(colours) {
  const dark = !isLight(colours.bg);
  const attentionOf = (stops) => {
    const css = ramp(stops.split(","));
    return { css, packed: packed(css), ink: css.map(inkOn) };
  };
  const signed = ramp(SIGNED[dark ? "dark" : "light"]);
  const towards = (colour, least) => between(colours.panel, colour, least);
  const cellRamp = (colour, deepest) => ramp([towards(colour, dark ? 0.28 : 0.2), towards(colour, 0.55), deepest]);
  const deep = (colour) => (dark ? between(colour, "#ffffff", 0.25) : between(colour, "#000000", 0.12));
  const cachedV = shiftHue(colours.cached, V_HUE_SHIFT);
  const ramps = {
    cachedK: cellRamp(colours.cached, deep(colours.cached)),
    cachedV: cellRamp(cachedV, deep(cachedV)),
    computedCell: ramp([towards(colours.computed, 0.38), towards(colours.computed, 0.7), colours.computed]),
  };
  return {
    ...colours,
    dark,
    ...{ onCached: inkOn(colours.cached), onComputed: inkOn(colours.computed), onOutput: inkOn(colours.output) },
    attention: attentionOf(colours.attentionStops),
    attentionNow: attentionOf(colours.attentionNowStops),
    signed: { css: signed, packed: packed(signed) },
    ...Object.fromEntries(Object.entries(ramps).map(([name, css]) => [name, { css, packed: packed(css) }])),
    hollow: pack(towards(colours.muted, dark ? 0.55 : 0.42)),
    track: pack(towards(colours.line, 0.35)),
    reserved: pack(towards(colours.line, 0.5)),
  };
}

function shiftHue(colour, degrees) {
  const shifted = hcl(colour);
  shifted.h += degrees;
  return shifted.formatHex();
}

/** @returns {string} gradient for a colour bar in CSS */
export function gradient(css) {
  const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => css[Math.round(share * (css.length - 1))]);
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}
