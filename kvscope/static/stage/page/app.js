/** The whole page: the intro or everything else, with what both need. */

import { html } from "htm/preact";
import { useContext, useRef } from "preact/hooks";
import { Later } from "../../shared/painting/later.js";
import { Part, Store, useChoice } from "../../shared/painting/part.js";
import { inIntro } from "../../shared/state/intro.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { Theme, usePageTheme } from "../../shared/ui/use-theme.js";
import { msg } from "../../shared/words/msg.js";
import { Glossary } from "../../shared/words/term.js";
import { useGlossary } from "../../shared/words/use-glossary.js";
import { Presses } from "../inspector/growth.js";
import { Everything } from "./everything.js";
import { Messages } from "./messages.js";

/**
 * @param {Object} props
 * @param {Object} props.store
 * @param {Function} props.later from `createQueue`
 * @param {Object} props.client
 * @param {Object|null} props.embed of the store, for a page inside another one; it never changes
 * @param {string|null} props.opens the first panel, where one is shown at a time
 * @param {Object|null} props.host the surrounding page, from `createEmbedHost`
 */
export function App({ store, later, ...props }) {
  return html`<${Store.Provider} value=${store}><${Later.Provider} value=${later}><${Definitions} client=${props.client}><${Colours}>
    <${Presses}><div class="page">
      <${Shown} ...${props} />
    </div><//>
  <//><//><//><//>`;
}

const INTRO = async () => (await import("../intro/intro.js")).Intro;

/** Most visitors see no intro, so its code is loaded on demand. */
function Intro(props) {
  return html`<${Fetched} of=${INTRO} waits=${msg`Loading…`} ...${props} />`;
}

function Shown({ embed = null, host = null, opens = null, ...parts }) {
  const store = useContext(Store);
  const intro = useChoice(inIntro);
  const seen = useRef(false);
  seen.current ||= intro;
  if (!intro) {
    const first = seen.current ? panelAfterIntro(store.state()) : opens;
    return html`<${Everything} embed=${embed} host=${host} opens=${first} ...${parts} />`;
  }
  return html`<${Part} of=${Messages} ...${parts} /><${Part} of=${Intro} moving urgent ...${parts} />`;
}

/** Who leaves the intro by one of its questions sees the panel with the answer first. */
function panelAfterIntro({ selection: { view, key } }) {
  return view === "head" && key === null ? "map" : "inspector";
}

function Definitions({ client, children }) {
  return html`<${Glossary.Provider} value=${useGlossary(client)}>${children}<//>`;
}

function Colours({ children }) {
  const theme = usePageTheme(useChoice(themeOf));
  return html`<${Theme.Provider} value=${theme}>${children}<//>`;
}

const themeOf = ({ theme }) => theme;
