/** Reads a session file on standard input; writes the head that the page opens it with as JSON. */

import { readFileSync } from "node:fs";
import { decodeFrame, FrameSplitter } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";
import { tellingLook } from "../../../../kvscope/static/stage/facts/opening-head.js";

const frames = [...new FrameSplitter().push(new Uint8Array(readFileSync(0)))].map(decodeFrame);
const run = new Run(frames[0].run);
for (const frame of frames) run.push(frame);
const { layer, head } = tellingLook(run);
process.stdout.write(JSON.stringify({ layer, head }));
