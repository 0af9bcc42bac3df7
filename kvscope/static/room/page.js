/** The page of a room: a bar, the page that the presenter shows in a frame, and the question to the room. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { PICTURE } from "../embed/picture.js";
import { under } from "../shared/log/root.js";
import { useOwnTheme } from "../shared/ui/own-theme.js";
import { useFallenFocus } from "../shared/ui/use-fallen-focus.js";
import { msg } from "../shared/words/msg.js";
import { Bar } from "./bar.js";
import { FollowerPanel } from "./follower-panel.js";
import { Landing } from "./landing.js";
import { PresenterPanel } from "./presenter-panel.js";
import { Projector } from "./projector.js";
import { readable } from "./secrets.js";
import { Trouble } from "./trouble.js";

/** @param {{store: Object, controller: Object, frame: Object, open: Function, secrets: Object, settings: Object, client: () => Object}} props */
export function Page({ store, settings, frame, ...props }) {
  const [state, setState] = useState(store.state());
  const [theme, setTheme] = useOwnTheme(settings);
  useLayoutEffect(() => {
    setState(store.state());
    return store.subscribe(setState);
  }, [store]);
  useEffect(() => frame.setTheme(theme), [theme]);
  const look = { theme, setTheme };
  const nowhere = !state.code || (state.over && !state.room);
  return nowhere
    ? html`<${Landing} state=${state} ...${look} ...${props} />`
    : html`<${Room} state=${state} frame=${frame} ...${look} ...${props} />`;
}

function Room({ state, controller, frame, client, theme, setTheme }) {
  const page = useRef(/** @type {HTMLElement|null} */ (null));
  const [asking, setAsking] = useState(false);
  const [projecting, setProjecting] = useState(0);
  const { code, secret, room, shown, over } = state;
  const presents = secret !== null;
  const hasPanel = !over && Boolean(room?.question || (presents && asking));
  const Panel = presents ? PresenterPanel : FollowerPanel;
  // An element that is pressed may go with its panel: the question is then what there is to read, and without one the button to ask.
  useFallenFocus(() => page.current?.querySelector(".room-question") ?? page.current?.querySelector(".room-ask"));
  useEffect(() => {
    document.title = msg`Room ${readable(code)} · KVScope`;
  }, [code]);
  return html`<div class="room-page" ref=${page}>
    <p class="visually-hidden" role="status">${saysOfQuestion(room)}</p>
    <${Bar}
      state=${state} controller=${controller} theme=${theme} setTheme=${setTheme} asking=${asking} setAsking=${setAsking}
      project=${() => setProjecting(projecting + 1)}
    />
    <${Trouble} state=${state} />
    <main class="room-main" data-panel=${hasPanel || null}>
      <h1 class="visually-hidden">${msg`Room ${readable(code)}`}</h1>
      <${Frame} opened=${state.opened} frame=${frame} />
      ${hasPanel && html`<${Panel} key=${room?.question?.number ?? "new"} state=${state} controller=${controller} shown=${shown} client=${client} close=${() => setAsking(false)} />`}
    </main>
    ${presents && html`<${Projector} state=${state} controller=${controller} opened=${projecting} />`}
  </div>`;
}

/** Screen readers announce only what changes in an element that is there already. */
function saysOfQuestion(room) {
  if (!room?.question) return "";
  const { text, open } = room.question;
  return open ? msg`The presenter asks: ${text}` : msg`The answers are shown: ${text}`;
}

function Frame({ opened, frame }) {
  const element = useRef(null);
  useLayoutEffect(() => frame.attach(element.current), [opened.count]);
  if (!opened.address) return html`<p class="room-frame empty muted">${msg`Opening the room…`}</p>`;
  // A new address gets a new element: changing the address of a frame adds an entry to the history.
  return html`<iframe
    key=${opened.count} ref=${element} name=${PICTURE} class="room-frame" title=${msg`The page that the room shows`} src=${under(opened.address)}
  ></iframe>`;
}
