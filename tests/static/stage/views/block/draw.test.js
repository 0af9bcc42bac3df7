import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { signedShade } from "../../../../../kvscope/static/stage/draw/tiles.js";
import {
  boxAround,
  boxOf,
  captionsIn,
  cellBox,
  cutTo,
  hitBlock,
} from "../../../../../kvscope/static/stage/views/block/draw/boxes.js";
import { clipOf, paintBlock } from "../../../../../kvscope/static/stage/views/block/draw/cells.js";
import {
  columnAt,
  columnCount,
  columnGaps,
  keyColumns,
  placedColumns,
  positionAt,
} from "../../../../../kvscope/static/stage/views/block/draw/columns.js";
import { tallGeometry } from "../../../../../kvscope/static/stage/views/block/draw/tall.js";
import { foldedGeometry, wideGeometry } from "../../../../../kvscope/static/stage/views/block/draw/wide.js";
import { madeBlock } from "../../../support/made-block.js";

const SMOL = { heads: 9, kvHeads: 3, headDim: 64, d: 576, mlp: 1536, gated: true, rotary: true };
const SMALL = { heads: 4, kvHeads: 2, headDim: 8, d: 32, mlp: 64, gated: true, rotary: true };
const MODELS = {
  "SmolLM2-135M": SMOL,
  "GPT-2": { heads: 12, kvHeads: 12, headDim: 64, d: 768, mlp: 3072, gated: false, rotary: false },
  "one head": { heads: 1, kvHeads: 1, headDim: 2, d: 2, mlp: 4, gated: true, rotary: true },
  "many heads": { heads: 32, kvHeads: 8, headDim: 128, d: 4096, mlp: 14336, gated: true, rotary: true },
};
const PLACES = {
  wide: (dims, keys) => wideGeometry({ width: 1069, height: 525, dims, keys }),
  folded: (dims, keys) => foldedGeometry({ width: 781, height: 525, dims, keys }),
  tall: (dims, keys) => tallGeometry({ width: 362, height: 525, dims, keys }),
};
/** Every shade its own colour, none of them that of a blank pixel. */
const ramp = (first) => ({ packed: Uint32Array.from({ length: 256 }, (_, i) => first + i) });
const theme = { signed: ramp(1000), attentionNow: ramp(2000) };

describe("columns of keys", () => {
  test("a few positions are all shown", () => {
    const columns = keyColumns({ count: 12, own: 11, centre: 3, width: 160 });
    assert.deepEqual(columns.runs, [[0, 11]]);
    assert.equal(columns.window, null);
    assert.ok(columns.width <= 160);
  });

  for (const centre of [0, 1, 20, 255, 490, 511]) {
    test(`512 positions around ${centre}: the first, the row's own and the centre are shown, in order, inside the lane`, () => {
      const columns = keyColumns({ count: 512, own: 511, centre, width: 160 });
      const shownColumns = placedColumns(columns);
      const shown = shownColumns.map(({ position }) => position);
      for (const position of [0, 511, centre]) assert.ok(shown.includes(position), `${position} is missing`);
      shownColumns.slice(1).forEach(({ position, x0 }, i) => {
        assert.ok(position > shownColumns[i].position);
        assert.ok(x0 >= shownColumns[i].x1 - 1e-6);
      });
      assert.ok(shownColumns.at(-1).x1 <= 160 + 1e-6);
      assert.ok(columns.pitch >= 2.9);
      const hidden = columnGaps(columns).reduce((total, { from, to }) => total + to - from + 1, 0);
      assert.equal(shown.length + hidden, 512);
      assert.equal(columnCount(columns), shown.length);
    });
  }

  test("of a row in the middle of a long prefill, the later positions are among those not counted as shown", () => {
    const columns = keyColumns({ count: 420, own: 200, centre: 200, width: 160 });
    assert.equal(columnCount(columns), placedColumns(columns).length);
    assert.ok(columnCount(columns) < 60);
  });

  test("a column is found under its own middle, and nothing in a gap", () => {
    const columns = keyColumns({ count: 300, own: 299, centre: 150, width: 160 });
    for (const { position, x0, x1 } of placedColumns(columns)) {
      assert.equal(positionAt(columns, (x0 + x1) / 2), position);
      assert.ok(Math.abs(columnAt(columns, position).x0 - x0) < 1e-6);
    }
    const gaps = columnGaps(columns);
    assert.equal(gaps.length, 2);
    for (const { x, from } of gaps) {
      assert.equal(positionAt(columns, x), null);
      assert.equal(columnAt(columns, from), null);
    }
  });
});

describe("the drawing of a block", () => {
  for (const [layout, geometryOf] of Object.entries(PLACES)) {
    for (const [model, dims] of Object.entries(MODELS)) {
      for (const count of [1, 12, 512]) {
        test(`${layout}, ${model}, ${count} keys: every value has a place of its own inside the drawing`, () => {
          const geometry = geometryOf(dims, { count, own: count - 1, centre: 0 });
          const boxes = geometry.boxes;
          for (const { x, y, width, height, tensor } of boxes) {
            assert.ok(x >= 0 && x + width <= geometry.width + 0.01, tensor);
            assert.ok(y >= 0 && y + height <= geometry.height + 0.01, tensor);
          }
          boxes.forEach((a, i) => {
            for (const b of boxes.slice(i + 1))
              assert.ok(!overlap(a, b), `${a.tensor} ${a.part} lies on ${b.tensor} ${b.part}`);
          });
          for (const tensor of Object.keys(madeBlock({ ...dims, headDim: 2, d: 4, mlp: 4, keys: 1 }))) {
            if (tensor === "attn.q") continue; // drawn once it is turned
            const isDrawn = boxes.some((box) => box.tensor === tensor);
            // Where no position is turned in, K before that would be the same picture twice.
            assert.equal(isDrawn, tensor !== "attn.k" || dims.rotary, tensor);
          }
        });
      }
    }

    test(`${layout}: what is painted under a point is the value that is told for it`, () => {
      const values = madeBlock({ ...SMALL, keys: 9 });
      const geometry = geometryOf(SMALL, { count: 9, own: 8, centre: 0 });
      const clips = Object.fromEntries(Object.entries(values).map(([name, { data }]) => [name, clipOf(data)]));
      const painted = paintBlock(values, { theme, clips }, { geometry, ratio: 1 });
      for (const box of geometry.boxes.filter(({ kind, tensor }) => kind === "tile" && tensor !== "attn.weights")) {
        for (const index of [0, Math.floor(box.count / 2), box.count - 1]) {
          const cell = cellBox(box, index);
          const [x, y] = [cell.x + cell.width / 2, cell.y + cell.height / 2];
          assert.deepEqual(hitBlock(geometry, x, y), { tensor: box.tensor, part: box.part, index, key: null });
          const value = values[box.tensor].data[(box.part ?? 0) * box.count + index];
          const colour = theme.signed.packed[signedShade(value, clips[box.tensor])];
          assert.equal(painted.data[Math.floor(y) * painted.width + Math.floor(x)], colour, `${box.tensor} ${index}`);
        }
      }
      const shelf = boxOf(geometry, { tensor: "cache.v", part: 1 });
      const column = columnAt(geometry.columns, 4);
      const hit = hitBlock(geometry, shelf.x + column.x0 + 1, shelf.y + 1);
      assert.deepEqual(hit, { tensor: "cache.v", part: 1, index: 0, key: 4 });
      const colour = theme.signed.packed[signedShade(values["cache.v"].data[(9 + 4) * 8], clips["cache.v"])];
      assert.equal(painted.data[Math.floor(shelf.y + 1) * painted.width + Math.floor(shelf.x + column.x0 + 1)], colour);
    });

    test(`${layout}: a score stands over its K and a weight over its V`, () => {
      const geometry = geometryOf(SMOL, { count: 12, own: 11, centre: 0 });
      const left = (tensor) => boxOf(geometry, { tensor, part: 0 }).x;
      assert.equal(left("attn.scores"), left("cache.k"));
      assert.equal(left("attn.weights"), left("cache.v"));
    });

    test(`${layout}: positions the row may not read are left blank`, () => {
      const geometry = geometryOf(SMALL, { count: 9, own: 4, centre: 0 });
      const painted = paintBlock(madeBlock({ ...SMALL, keys: 5 }), { theme, clips: {} }, { geometry, ratio: 1 });
      for (const tensor of ["attn.scores", "attn.weights", "cache.k", "cache.v"]) {
        const box = boxOf(geometry, { tensor, part: 1 });
        const pixel = (position) => {
          const { x0 } = columnAt(geometry.columns, position);
          return painted.data[Math.floor(box.y + 2) * painted.width + Math.floor(box.x + x0 + 2)];
        };
        assert.notEqual(pixel(4), 0, tensor);
        assert.equal(pixel(5), 0, tensor);
      }
    });
  }

  test("one huge value does not blank the rest, and no values do no harm", () => {
    const values = Float32Array.from({ length: 576 }, (_, i) => (i === 3 ? 700 : Math.sin(i)));
    assert.ok(clipOf(values) <= 1);
    assert.equal(clipOf(new Float32Array(8)), 0);
    assert.equal(clipOf(Float32Array.of(0, 0, 5)), 5);
  });

  test("where cells share a pixel the value farthest from zero is seen", () => {
    const data = new Float32Array(14336).fill(0.001);
    data[7000] = -4;
    const place = { x: 0, y: 0, width: 58, height: 58, columns: 120, rows: 120 };
    const boxes = [{ kind: "tile", tensor: "mlp.hidden", part: null, count: 14336, ...place }];
    const columns = keyColumns({ count: 1, own: 0, centre: 0, width: 10 });
    const values = { "mlp.hidden": { shape: [14336], data } };
    const painting = { geometry: { width: 60, height: 60, columns, boxes }, ratio: 1 };
    const painted = paintBlock(values, { theme, clips: { "mlp.hidden": 4 } }, painting);
    assert.ok(painted.data.includes(theme.signed.packed[0]));
  });
});

function overlap(a, b) {
  const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return across > 0.01 && down > 0.01;
}

describe("the box around a tensor", () => {
  for (const [place, geometryOf] of Object.entries(PLACES)) {
    test(`${place}: it holds all parts of the tensor, and of one that is not drawn the next that is`, () => {
      const geometry = geometryOf(SMOL, { count: 14, own: 13, centre: 13 });
      const around = boxAround(geometry, "attn.q_rot");
      const parts = geometry.boxes.filter(({ tensor }) => tensor === "attn.q_rot");
      assert.equal(parts.length, SMOL.heads);
      for (const { x, y, width, height } of parts) {
        assert.ok(x >= around.x && x + width <= around.x + around.width + 1e-6);
        assert.ok(y >= around.y && y + height <= around.y + around.height + 1e-6);
      }
      assert.deepEqual(boxAround(geometry, "attn.q_raw"), around);
      assert.equal(boxAround(geometry, "logits"), null);
    });

    test(`${place}: a cut has the named tensors, and no more of the drawing than their labels need`, () => {
      const geometry = geometryOf(SMOL, { count: 14, own: 13, centre: 13 });
      const cut = cutTo(geometry, ["attn.scores", "logits"]);
      const around = boxAround(geometry, "attn.scores");
      assert.ok(cut.x <= around.x && cut.x + cut.width >= around.x + around.width);
      assert.ok(cut.y <= around.y && cut.y + cut.height >= around.y + around.height);
      assert.ok(cut.height < geometry.height);
      assert.ok(cut.x >= 0 && cut.y >= 0 && cut.x + cut.width <= geometry.width);
      assert.equal(cutTo(geometry, ["logits"]), null);
    });

    test(`${place}: a cut with K alone does not speak of the cache of both`, () => {
      const geometry = geometryOf(SMOL, { count: 14, own: 13, centre: 13 });
      const names = (tensors) => Object.keys(captionsIn(geometry, tensors));
      const all = names(null);
      assert.deepEqual(names(["cache.k", "cache.v"]), all);
      assert.deepEqual(
        names(["attn.scores", "cache.k"]),
        all.filter((name) => name !== "cache"),
      );
    });
  }
});
