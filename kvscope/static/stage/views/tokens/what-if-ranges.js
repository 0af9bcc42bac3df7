/** What the sliders of the sampling settings can be moved to, and how far at a time. */

export const RANGES = {
  temperature: { least: 0.1, most: 2, step: 0.05 },
  top_p: { least: 0.05, most: 1, step: 0.01 },
};
