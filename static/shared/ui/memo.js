/** Parts of the page that are left alone while nothing they show has changed. */

import { html } from "htm/preact";
import { Component } from "preact";

/** A component, `of`, that is rendered again only with other props: for the entries of long lists. */
export class Memo extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some((name) => next[name] !== this.props[name]);
  }

  render({ of: Part, ...props }) {
    return html`<${Part} ...${props} />`;
  }
}
