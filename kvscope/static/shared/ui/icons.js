/** The few icons of the page, drawn on a 16 × 16 grid. */

import { html } from "htm/preact";

const PATHS = {
  folder: "M1.5 3h4.6l1.5 1.7h6.9v1.5H7L5.4 4.5H3v7h10V7.5h1.5V13h-13z",
  list: "M1.5 3h2v2h-2zM5 3.2h9.5v1.6H5zM1.5 7h2v2h-2zM5 7.2h9.5v1.6H5zM1.5 11h2v2h-2zM5 11.2h9.5v1.6H5z",
  menu: "M1.5 3h13v1.6h-13zM1.5 7.2h13v1.6h-13zM1.5 11.4h13V13h-13z",
  off: "M7.2 1.5h1.6V8H7.2zM4.9 3.3l.9 1.3a4.4 4.4 0 1 0 4.4 0l.9-1.3a6 6 0 1 1-6.2 0z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  previous: "M12 3v10L4.5 8z",
  next: "M4 3v10l7.5-5z",
  layerDown: "M1 1.5h14v2H1zM1 12.5h14v2H1zM7 5h2v3h2.6L8 11.4 4.4 8H7z",
  layerUp: "M1 1.5h14v2H1zM1 12.5h14v2H1zM7 11h2V8h2.6L8 4.6 4.4 8H7z",
  moon: "M13.4 10.2A6 6 0 0 1 5.8 2.6a6 6 0 1 0 7.6 7.6z",
  present: "M1 2h14v1.5h-1V11H8.8v.9l2.6 2.1-.9 1.1L8 13.2l-2.5 1.9-.9-1.1L7.2 12v-1H2V3.5H1zM3.5 3.5v6h9v-6z",
  save: "M7.2 1.5h1.6v6.3l2.3-2.3 1.1 1.1L8 10.8 3.8 6.6l1.1-1.1 2.3 2.3zM2 11h1.6v2h8.8v-2H14v3.5H2z",
  search:
    "M6.7 1.5a5.2 5.2 0 1 0 3 9.4l3.4 3.4 1.2-1.2-3.4-3.4a5.2 5.2 0 0 0-4.2-8.2zm0 1.7a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7z",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM7.3 1h1.4v2.3H7.3zM7.3 12.7h1.4V15H7.3zM1 7.3h2.3v1.4H1zM12.7 7.3H15v1.4h-2.3zM2.6 3.6l1-1 1.6 1.6-1 1zM10.8 11.8l1-1 1.6 1.6-1 1zM3.6 13.4l-1-1 1.6-1.6 1 1zM11.8 5.2l-1-1 1.6-1.6 1 1z",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}
