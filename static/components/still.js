/** Parts of the page that are left alone while nothing they show has changed. */

import { html } from "htm/preact";
import { Component } from "preact";

/** The clock changes `progress` and `reveal` on every frame; most parts draw neither. */
const EVERY_FRAME = ["progress", "reveal"];

const differs = (before, after, except = []) =>
  Object.keys(after).some((name) => after[name] !== before[name] && !except.includes(name));

/** A component, `of`, that is rendered again only with other props: for the entries of long lists. */
export class Still extends Component {
  shouldComponentUpdate(next) {
    return differs(this.props, next);
  }

  render({ of: Part, ...props }) {
    return html`<${Part} ...${props} />`;
  }
}

/** A component, `of`, that is not rendered again when all that changed of the page's state is the clock. */
export class Calm extends Still {
  shouldComponentUpdate({ state }) {
    return differs(this.props.state, state, EVERY_FRAME);
  }
}
