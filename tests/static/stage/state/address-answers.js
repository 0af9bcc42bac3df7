/**
 * Run by test_address.py: answers what the page makes of addresses. A line of JSON {ask, with} comes in, a
 * line of JSON goes out.
 */

import { createInterface } from "node:readline";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { presentOfSearch } from "../../../../kvscope/static/shared/state/location.js";
import { VIEWS } from "../../../../kvscope/static/shared/state/views.js";
import { addressOf, readAddress } from "../../../../kvscope/static/stage/state/address.js";
import { createController } from "../../../../kvscope/static/stage/state/controller.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";
import { smallRun } from "../../support/wire.js";

const ANSWERS = {
  views: () => VIEWS,

  /** The address of a state in which something is shown. */
  written: ({ run, saved, step, selection, present }) =>
    addressOf({ run: { id: run, saved, steps: [{}] }, step, selection, present }),

  /** What an address says, taken apart by the platform as a browser does. */
  read({ address, saved }) {
    const location = new URL(address, "http://localhost");
    return { ...readAddress(location, saved), present: presentOfSearch(location.search) };
  },

  /** What is shown of the small run (2 layers, 2 heads, 5 positions, 3 steps) once an address has been followed. */
  followed({ address }) {
    const { run, link } = readAddress(new URL(address, "http://localhost"));
    const store = createStore();
    const client = {
      status: async () => ({ status: "closed" }),
      watch(_id, _after, { onFrame }) {
        deliver = onFrame;
        return () => {};
      },
    };
    let deliver;
    const controller = createController({
      store,
      client,
      storage: { getItem: () => null, setItem: () => {} },
      delay: async () => {},
    });
    controller.visit(run, link);
    for (const frame of smallRun()) deliver(decodeFrame(frame));
    controller.dispose();
    const { step, selection } = store.state();
    return { step, ...selection, address: addressOf(store.state()) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { ask, with: given } = JSON.parse(line);
  console.log(JSON.stringify(ANSWERS[ask](given)));
}
