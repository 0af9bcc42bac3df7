/** Mounts a page below /learn/ with its client, its painting queue and the glossary. */

import { html } from "htm/preact";
import { mountOwnPage } from "../../embed/own-page.js";
import { Later } from "../../shared/painting/later.js";
import { createQueue } from "../../shared/painting/queue.js";
import { bootstrapOf } from "../../shared/state/bootstrap.js";
import { clientOf } from "../../shared/state/page-client.js";
import { storageOr } from "../../shared/state/storage.js";
import { Glossary } from "../../shared/words/term.js";
import { useGlossary } from "../../shared/words/use-glossary.js";

/** @param {Function} Page gets `known`, the server's data, `client`, `theme` and `setTheme` */
export function mount(Page) {
  const known = bootstrapOf();
  const settings = storageOr(() => window.localStorage);
  const client = clientOf({ settings, saved: null, stranger: false });
  const later = createQueue({
    requestFrame: window.requestAnimationFrame.bind(window),
    now: () => performance.now(),
  });

  function Whole(props) {
    return html`<${Later.Provider} value=${later}><${Defined} ...${props} /><//>`;
  }

  function Defined(props) {
    const definitions = useGlossary(client);
    return html`<${Glossary.Provider} value=${definitions}><${Page} ...${props} /><//>`;
  }

  mountOwnPage(Whole, { framed: false, settings, props: { known, client } });
}
