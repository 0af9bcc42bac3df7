/** The same picture in a real model: a recorded head, with a link to it. */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { drawTriangle } from "../shared/draw/card-drawing.js";
import { readTheme } from "../shared/draw/theme.js";
import { pictureInWords, rowsOf } from "../shared/facts/card-picture.js";
import { percent } from "../shared/facts/format.js";
import { under } from "../shared/log/root.js";
import { msg } from "../shared/words/msg.js";

const SIDE_PX = 108;
const FULL = 255;

/** @param {{real: {id: string, look: Object, picture: Object}, theme: string, framed: boolean, d: number}} props */
export function RealHead({ real, theme, framed, d }) {
  const { id, look, picture } = real;
  const canvas = useRef(null);
  useEffect(() => {
    const ratio = Math.max(1, window.devicePixelRatio);
    canvas.current.width = canvas.current.height = Math.round(SIDE_PX * ratio);
    const context = canvas.current.getContext("2d");
    context.scale(ratio, ratio);
    const colours = readTheme(getComputedStyle(document.documentElement));
    drawTriangle(context, rowsOf(picture), { key: picture.key, theme: colours, side: SIDE_PX });
  }, [picture, theme]);
  const rows = rowsOf(picture);
  const weight = (rows.at(-1)[picture.key] / FULL) ** 2;
  const [query, key] = [picture.tokens.at(-1), picture.tokens[picture.key]].map((token) => token.trim());
  const seen = rows.length;
  const target = framed ? "_blank" : null;
  return html`<section class="own-card stack box real-head" aria-label=${msg`In the real model`}>
    <div>
      <h2><a target=${target} rel=${target && "noopener"} href=${under(`/s/${id}?view=head&layer=${look.layer}&head=${look.head}`)}>${msg`The same picture in a real model: layer ${look.layer}, head ${look.head}`}</a></h2>
      <p>${msg`Only the sizes differ: a token has many more than ${d} numbers, and this row sees ${seen} tokens.`}
        ${" "}${msg`There, “${query}” attends to “${key}” with a weight of about ${percent(weight, 0)}.`}</p>
    </div>
    <canvas ref=${canvas} role="img" aria-label=${pictureInWords(picture)}></canvas>
  </section>`;
}
