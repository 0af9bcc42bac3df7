/** The whole page: the first thirty seconds, or everything; and what both stand in. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { inIntro } from "../../shared/state/intro.js";
import { Later } from "../../shared/turns/later.js";
import { Turn, useChoice } from "../../shared/turns/turn.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { Theme, usePageTheme } from "../../shared/ui/use-theme.js";
import { Help } from "../../shared/words/help.js";
import { Glossary } from "../../shared/words/term.js";
import { useGlossary } from "../../shared/words/use-glossary.js";
import { Everything } from "./everything.js";
import { Messages } from "./messages.js";

/**
 * @param {Object} props
 * @param {Object} props.turns as `createTurns` gives them
 * @param {Object} props.client
 * @param {Object|null} props.embed of the store, for a page inside another one; it stays what it is
 * @param {string|null} props.opens the panel to begin with where one is shown at a time
 * @param {Object|null} props.host the page around, as `createEmbedHost` gives it
 */
export function App({ turns, embed = null, host = null, opens = null, ...parts }) {
  return html`<${Later.Provider} value=${turns.later}><${Definitions} client=${parts.client}><${Colours} turns=${turns}>
    <div class="page">
      <${Shown} turns=${turns} embed=${embed} host=${host} opens=${opens} ...${parts} />
      <${Help} />
    </div>
  <//><//><//>`;
}

const INTRO = async () => (await import("../intro/intro.js")).Intro;

/** Most come to the stage: they load nothing of it. */
function Intro(props) {
  return html`<${Fetched} of=${INTRO} ...${props} />`;
}

function Shown({ turns, embed, host, opens, ...parts }) {
  const intro = useChoice(turns, "map", inIntro);
  const seen = useRef(false);
  seen.current ||= intro;
  if (!intro) {
    const first = seen.current ? panelAfterIntro(turns.state()) : opens;
    return html`<${Everything} turns=${turns} embed=${embed} host=${host} opens=${first} ...${parts} />`;
  }
  return html`<${Turn} of=${Messages} turn="rest" turns=${turns} ...${parts} />
    <${Turn} of=${Intro} turn="map" turns=${turns} moving ...${parts} />`;
}

/** Whoever leaves by one of its questions sees what answers it first. */
function panelAfterIntro({ selection: { view, key } }) {
  return view === "head" && key === null ? "map" : "inspector";
}

function Definitions({ client, children }) {
  return html`<${Glossary.Provider} value=${useGlossary(client)}>${children}<//>`;
}

function Colours({ turns, children }) {
  const theme = usePageTheme(useChoice(turns, "map", themeOf));
  return html`<${Theme.Provider} value=${theme}>${children}<//>`;
}

const themeOf = ({ theme }) => theme;
