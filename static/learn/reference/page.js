import { html } from "htm/preact";
export const Page = () => html`<p></p>`;
