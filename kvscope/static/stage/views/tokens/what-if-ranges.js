/** The limits and steps of the sliders for sampling settings. */

export const RANGES = {
  temperature: { least: 0.1, most: 2, step: 0.05 },
  top_p: { least: 0.05, most: 1, step: 0.01 },
};
