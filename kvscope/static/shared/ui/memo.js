/** Avoids rendering parts of the page whose props did not change. */

import { html } from "htm/preact";
import { Component } from "preact";

/** Renders the component `of` again only with changed props: for the entries of long lists. */
export class Memo extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some((name) => next[name] !== this.props[name]);
  }

  render({ of: Part, ...props }) {
    return html`<${Part} ...${props} />`;
  }
}
