/** A page follows its room by socket, and asks for it by HTTP while no socket connects. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { followRoom } from "../../../kvscope/static/room/following.js";

const ROOM = { code: "ABCD2345", seq: 1 };
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A page whose socket is not connected. `read` answers its requests. */
function page(read) {
  const [handlers, waits, told] = [{}, [], []];
  const socket = {
    connected: false,
    answer: { room: ROOM },
    on: (name, handler) => Object.assign(handlers, { [name]: handler }),
    timeout: () => ({ emit: (_name, _message, callback) => callback(null, socket.answer) }),
    connect: () => told.push("connect"),
  };
  followRoom({
    ...{ code: "ABCD2345", client: "c", presents: () => false, socket, read },
    handlers: {
      onRoom: ({ seq }) => told.push(seq),
      onOver: (why) => told.push(why.status ?? why),
      onConnection: (connected) => told.push(connected),
    },
    delay: (ms) => (ms ? new Promise((resolve) => waits.push({ ms, resolve })) : Promise.resolve()),
  });
  return {
    ...{ told, waits },
    /** The next wait is over. */
    async pass() {
      waits.shift().resolve();
      await settled();
    },
    connect() {
      socket.connected = true;
      handlers.connect();
    },
    lose() {
      socket.connected = false;
      handlers.disconnect();
    },
    hear: (room) => handlers.room(room),
  };
}

const refuse = (status, retryAfter = null) => {
  throw Object.assign(new Error(), { status, retryAfter });
};

test("without a socket the room comes by HTTP, the first time too, again and again", async () => {
  let seq = 0;
  const without = page(async () => {
    seq += 1;
    return { code: "ABCD2345", seq };
  });
  await without.pass();
  await without.pass();
  assert.deepEqual(without.told, [true, 1, true, 2]);
});

test("the connection is lost only when neither way leads to the server", async () => {
  let isThere = false;
  const lost = page(async () => (isThere ? ROOM : refuse(0)));
  assert.deepEqual(lost.told, []);
  await lost.pass();
  assert.deepEqual(lost.told, [false]);
  isThere = true;
  await lost.pass();
  assert.deepEqual(lost.told, [false, true, 1]);
});

test("while the socket follows, nothing is asked, and when it is lost, it is asked again", async () => {
  let count = 0;
  const followed = page(async () => {
    count += 1;
    return { ...ROOM, seq: 9 };
  });
  followed.connect();
  await followed.pass();
  assert.deepEqual([count, followed.waits], [0, []]);
  followed.lose();
  followed.lose();
  assert.equal(followed.waits.length, 1);
  await followed.pass();
  assert.deepEqual([count, followed.told], [1, [true, 1, true, 9]]);
});

test("an answer by HTTP that comes after the socket's is dropped", async () => {
  let answer = (_room) => {};
  const late = page(() => new Promise((resolve) => (answer = resolve)));
  await late.pass();
  late.connect();
  answer({ ...ROOM, seq: 0 });
  await settled();
  assert.deepEqual(late.told, [true, 1]);
});

test("a room that does not exist is over, and asked for no more", async () => {
  const nowhere = page(async () => refuse(404));
  await nowhere.pass();
  assert.deepEqual([nowhere.told, nowhere.waits], [[true, 404], []]);
});

test("a server that asks for time gets it", async () => {
  const busy = page(async () => refuse(429, 7));
  await busy.pass();
  assert.deepEqual([busy.told, busy.waits.map(({ ms }) => ms)], [[false], [7000]]);
});

test("the end of a room comes by socket", () => {
  const ended = page(async () => ROOM);
  ended.connect();
  ended.hear({ code: "ABCD2345", ended: true });
  assert.equal(ended.told.at(-1), "ended");
});
