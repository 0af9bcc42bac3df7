/** Which tab of the compact layout is the current one. Pure. */

export const INSPECTOR = "inspector";

/** @returns {number} the tab that stands for the panel in sight */
export function currentTab(panels, inSight, view) {
  const enlarged = panels.findIndex((panel) => panel.view === view);
  return panels[inSight].id === INSPECTOR && enlarged >= 0 ? enlarged : inSight;
}
