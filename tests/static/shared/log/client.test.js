import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "../../../../kvscope/static/shared/log/client.js";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { assertEach, columns, pluck } from "../../support/lists.js";
import { settled } from "../../support/turns.js";
import { encode, smallRun, stream } from "../../support/wire.js";

const PAYLOADS = smallRun();
const kindOf = (seq) => decodeFrame(PAYLOADS[seq]).kind;

/** A server's log, which may hold less than everything, and a socket that says what it is told to. */
function wire({ stored, status = 200, problem = null, down = false }) {
  const server = { stored, down, asked: [], signals: [], emitted: [], answer: {} };
  const listeners = new Map();
  const socket = {
    connected: true,
    on: (name, listener) => listeners.set(name, listener),
    off: (name) => listeners.delete(name),
    emit: (name, body, answered) => {
      server.emitted.push([name, body]);
      answered?.(server.answer);
    },
    timeout: () => ({
      emit(name, body, answered) {
        server.emitted.push([name, body]);
        if (server.deaf) answered(new Error("no answer in time"));
        else answered(null, server.answer);
      },
    }),
    disconnect: () => {
      server.emitted.push(["disconnect"]);
      return socket;
    },
    connect: () => server.emitted.push(["connect"]),
  };
  const page = new Set();
  const presence = (listener) => {
    page.add(listener);
    return () => page.delete(listener);
  };
  /** @param {"back"|"offline"} how */
  const tell = (how) => [...page].map((listener) => listener(how));
  const fetch = async (path, options) => {
    server.asked.push(path);
    server.signals.push(options?.signal);
    if (server.down) throw new TypeError("no network");
    if (status !== 200) return new Response(JSON.stringify(problem), { status, headers: { "Retry-After": "5" } });
    const after = Number(new URL(path, "http://localhost").searchParams.get("after"));
    return new Response(stream(PAYLOADS.slice(after + 1, server.stored)));
  };
  const say = (name, value) => listeners.get(name)?.(value);
  const client = createClient({ fetch, connect: () => socket, presence });
  return { server, say, tell, page, listeners, client };
}

function watching(parts, after = -1, run = "r1") {
  const got = { seqs: [], connection: [], caughtUp: [], problems: [] };
  const stop = parts.client.watch(run, after, {
    onFrame: (frame) => got.seqs.push(frame.seq),
    onConnection: (there) => got.connection.push(there),
    onCaughtUp: (steps) => got.caughtUp.push(steps),
    onProblem: (problem) => got.problems.push(problem),
  });
  return { got, stop };
}

/** A run of `r1` that is watched, with what its first answers brought. */
async function watched(options, after) {
  const parts = wire(options);
  const watch = watching(parts, after);
  await settled();
  return { ...parts, ...watch };
}

const upTo = (count) => Array.from({ length: count }, (_, seq) => seq);

test("a closed run is read over HTTP alone", async () => {
  const { got, server, listeners } = await watched({ stored: PAYLOADS.length });
  assert.deepEqual(got.seqs, upTo(PAYLOADS.length));
  assert.deepEqual(server.emitted, []);
  assert.equal(listeners.size, 0);
  assert.deepEqual(pluck(server.signals, "aborted"), [false], "an answer that has all is read to its end");
});

test("while many stored frames are read, the page's other tasks have their turn", async () => {
  const parts = wire({ stored: PAYLOADS.length });
  let others = 0;
  const before = [];
  parts.client.watch("r1", -1, {
    onFrame() {
      before.push(others);
      setImmediate(() => (others += 1));
      for (const end = performance.now() + 12; performance.now() < end; );
    },
    onConnection: () => {},
    onProblem: () => {},
  });
  await settled();
  assert.equal(before.length, PAYLOADS.length);
  assert.ok(before.at(-1) >= PAYLOADS.length - 2, `${before}`);
});

test("a live run continues over the socket after its stored frames, each frame once", async () => {
  const { got, server, say, listeners } = await watched({ stored: 4 });
  assert.deepEqual(server.emitted, [["watch", { run: "r1", after: 3 }]]);
  say("frame", PAYLOADS[3]);
  for (const payload of PAYLOADS.slice(4)) say("frame", payload.buffer);
  assert.deepEqual(got.seqs, upTo(PAYLOADS.length));
  assert.equal(listeners.size, 0, "nothing listens after the close frame");
});

test("a missing frame is read over HTTP, also when no frame follows", async () => {
  const { got, server, say } = await watched({ stored: 2 });
  server.stored = PAYLOADS.length;
  say("frame", PAYLOADS.at(-1));
  await settled();
  assert.deepEqual(got.seqs, upTo(PAYLOADS.length));
});

test("a single missing frame is read too", async () => {
  const { got, server, say } = await watched({ stored: 2 });
  server.stored = 4;
  say("frame", PAYLOADS[3]);
  await settled();
  assert.deepEqual(got.seqs, upTo(4));
});

test("after a reconnect the watch starts after the newest frame", async () => {
  const { got, server, say } = await watched({ stored: 2 });
  say("frame", PAYLOADS[2]);
  say("disconnect");
  say("connect");
  assert.deepEqual(server.emitted.at(-1), ["watch", { run: "r1", after: 2 }]);
  say("frame", PAYLOADS[3]);
  assert.deepEqual(got.seqs, upTo(4));
});

test("frames of another run on the same socket are ignored", async () => {
  const { got, say } = await watched({ stored: 2 });
  say("frame", encode({ kind: "close", seq: 2, run: "other", data: {} }));
  assert.deepEqual(got.seqs, upTo(2));
});

test("a missing run ends the watch with the server's message", async () => {
  const problem = { title: "Not Found", detail: "There is no run.", field: "run", status: 404 };
  const { got, server } = await watched({ stored: 0, status: 404, problem });
  assert.deepEqual(columns(got.problems, "detail", "field"), { detail: ["There is no run."], field: ["run"] });
  assert.deepEqual(server.emitted, []);
});

test("an unreachable server is reported as a lost connection, and the socket is still tried", async () => {
  const { got, stop, server } = await watched({ stored: 3, down: true });
  assert.deepEqual(got.connection[0], false);
  assert.deepEqual(server.emitted, [["watch", { run: "r1", after: -1 }]]);
  stop();
});

test("a page that is back reads missing frames, reports how many, and reopens a silent socket", async () => {
  for (const deaf of [false, true]) {
    const { got, stop, server, tell, page } = await watched({ stored: 2 });
    Object.assign(server, { stored: 6, deaf, emitted: [] });
    tell("back");
    await settled();
    assert.deepEqual(got.seqs, upTo(6));
    assert.deepEqual(got.caughtUp, [got.seqs.filter((seq) => kindOf(seq) === "step").length]);
    const [first, ...again] = server.emitted;
    assert.equal(first[0], "watch");
    assert.deepEqual(again, deaf ? [["disconnect"], ["connect"]] : []);
    stop();
    assert.equal(page.size, 0);
  }
});

test("a page that is back without missing frames reports nothing", async () => {
  const { got, stop, tell } = await watched({ stored: 2 });
  tell("back");
  await settled();
  assert.deepEqual([got.caughtUp, got.connection.at(-1)], [[], true]);
  stop();
});

test("a page without a network reports it at once, and cancels a hanging request when it is back", async () => {
  const { got, stop, server, tell } = await watched({ stored: 2 });
  tell("offline");
  assert.equal(got.connection.at(-1), false);
  server.stored = PAYLOADS.length;
  tell("back");
  tell("back");
  await settled();
  assert.deepEqual([got.seqs, got.connection.at(-1)], [upTo(PAYLOADS.length), true]);
  assert.equal(server.signals.at(-2).aborted, true);
  assert.equal(got.caughtUp.length, 1);
  stop();
});

test("a run whose watch the server refuses is read over HTTP to its end", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const parts = wire({ stored: 2 });
  parts.server.answer = { error: { status: 503, detail: "The database cannot be read." } };
  const { got } = watching(parts);
  await settled();
  parts.server.stored = PAYLOADS.length;
  t.mock.timers.tick(700);
  await settled();
  assert.deepEqual(got.seqs, upTo(PAYLOADS.length));
});

test("a stopped watch takes no frames and leaves the socket", async () => {
  const { got, stop, server, listeners } = await watched({ stored: 2 });
  stop();
  assert.equal(listeners.size, 0);
  assert.deepEqual(server.emitted.at(-1), ["unwatch", { run: "r1" }]);
  assert.deepEqual(got.seqs, upTo(2));
});

test("a refusal has field, limit and retry time", async () => {
  const problem = { title: "Too Many Requests", detail: "16 runs are open.", limit: 16, status: 429 };
  const { client } = wire({ stored: 0, status: 429, problem });
  const refusal = { status: 429, limit: 16, retryAfter: 5, detail: "16 runs are open." };
  await assert.rejects(client.start({ prompt: "x" }), refusal);
});

test("a refusal without a problem document has its status", async () => {
  const client = createClient({ fetch: async () => new Response("<html>", { status: 502 }), connect: () => null });
  await assert.rejects(client.control("r1", "pause"), /502/);
});

const SAVED = { id: "abcdefghij23", run: "r1" };

/** A client of a page that shows a saved session; `answer` gives the response to a path. */
function savedClient(answer) {
  const asked = [];
  const fetch = async (path, options) => {
    asked.push([options?.method ?? "GET", path, options?.headers]);
    return answer(path);
  };
  const connect = () => assert.fail("a saved session opens no socket");
  return { asked, client: createClient({ fetch, connect, saved: SAVED }) };
}

test("a saved run is read from its session, another run from the runs", async () => {
  const { asked, client } = savedClient(() => Response.json({}));
  await client.ask("lens")({ run: "r1", step: 2 });
  await client.ask("lens")({ run: "r2", step: 2 });
  assertEach(asked, ([, path]) => path, ["/api/sessions/abcdefghij23/lens?step=2", "/api/runs/r2/lens?step=2"]);
});

test("a saved run is read over HTTP alone, also when its stream breaks off", async () => {
  let answers = 0;
  const { asked, client } = savedClient((path) => {
    const after = Number(new URL(path, "http://localhost").searchParams.get("after"));
    answers += 1;
    return new Response(stream(PAYLOADS.slice(after + 1, answers === 1 ? 4 : PAYLOADS.length)));
  });
  const { got } = watching({ client });
  await settled();
  assert.deepEqual(got.seqs, upTo(4));
  await new Promise((resolve) => setTimeout(resolve, 800));
  assert.deepEqual(got.seqs, upTo(PAYLOADS.length));
  assertEach(asked, ([, path]) => path.split("?")[1], ["after=-1", "after=3"]);
});

test("a damaged part of a saved run ends the watch with its problem", async () => {
  const problem = { title: "Internal Server Error", detail: "Part 3 is damaged.", status: 500 };
  const { client } = savedClient(() => new Response(JSON.stringify(problem), { status: 500 }));
  const { got } = watching({ client });
  await settled();
  assert.deepEqual(pluck(got.problems, "detail"), ["Part 3 is damaged."]);
});

test("a share is deleted with its token in a header", async () => {
  const { asked, client } = savedClient(() => new Response(null, { status: 204 }));
  await client.withdraw("abcdefghij23", "secret");
  assert.deepEqual(asked, [["DELETE", "/api/sessions/abcdefghij23", { Authorization: "Bearer secret" }]]);
});

test("a session shared here can be deleted here, once", async () => {
  const kept = [];
  const sharings = {
    add: (id, token) => kept.push([id, token]),
    of: (id) => kept.find(([its]) => its === id)?.[1] ?? null,
    forget: (id, token) => kept.splice(kept.indexOf([id, token]), 1),
  };
  const shared = { id: "abcdefghij23", url: "/s/abcdefghij23", delete_token: "secret" };
  const answers = [new Response(JSON.stringify(shared), { status: 201 }), new Response(null, { status: 204 })];
  const client = createClient({ fetch: async () => answers.shift(), connect: () => null, sharings });
  assert.equal(client.tokenOf(shared.id), null);
  assert.deepEqual(await client.share("r1", {}), shared);
  assert.equal(client.tokenOf(shared.id), "secret");
  await client.withdraw(shared.id, "secret");
  assert.equal(client.tokenOf(shared.id), null);
});

test("a file is sent unchanged, and a refusal gives its reason", async () => {
  const sent = [];
  const answers = [
    new Response('{"id": "s1"}', { status: 201 }),
    new Response('{"title": "No", "detail": "not of KVScope"}', { status: 422 }),
  ];
  const upload = async (path, file, options) => {
    sent.push([path, file]);
    options.onSent(3);
    return answers.shift();
  };
  const client = createClient({ fetch: null, upload, connect: null });
  const heard = [];
  assert.deepEqual(await client.keep("file", { onSent: (bytes) => heard.push(bytes) }), { id: "s1" });
  await assert.rejects(client.keep("file", { onSent: () => {} }), { status: 422, message: "not of KVScope" });
  assert.deepEqual([sent[0], heard], [["/api/sessions", "file"], [3]]);
});

test("the size of a file is requested without the file", async () => {
  const asked = [];
  const fetch = async (path, { method }) => {
    asked.push(`${method} ${path}`);
    return new Response(null, { headers: { "Content-Length": "123" } });
  };
  const client = createClient({ fetch, connect: null });
  assert.equal(await client.sizeOf("s1", "html", "qkv", {}), 123);
  assert.equal(await client.sizeOf("s1", "safetensors", null, {}), 123);
  assert.deepEqual(asked, ["HEAD /api/sessions/s1.html?level=qkv", "HEAD /api/sessions/s1.safetensors"]);
});

test("derived runs are remembered, and named in the request for the family", async () => {
  const asked = [];
  const fetch = async (path) => {
    asked.push(path);
    return Response.json({ id: `made${asked.length}`, root: "shipped", runs: [] });
  };
  const remembered = [];
  const own = {
    add: (run, made) => remembered.push([run, made]),
    besides: (run) => (run === "shipped" ? remembered.map(([, made]) => made) : []),
  };
  const client = createClient({ fetch, connect: null, own });
  await client.fork("shipped", { position: 4, token: 7 });
  await client.twin("shipped", { cache: "none" });
  await client.beam("made1", { step: 1, beams: 2, length: 3 });
  assert.deepEqual(remembered.map(String), ["shipped,made1", "shipped,made2", "made1,made3"]);
  await client.family("shipped");
  await client.family("mine");
  assert.deepEqual(asked.slice(3), ["/api/runs/shipped/family?known=made1,made2,made3", "/api/runs/mine/family"]);
});

test("the client's identity is sent with every request and every file", async () => {
  const sent = [];
  const fetch = async (path, { headers }) => {
    sent.push([path, headers]);
    return Response.json({ id: "r2" });
  };
  const upload = async (path, _file, { headers }) => {
    sent.push([path, headers]);
    return Response.json({ id: "s1" });
  };
  const client = createClient({ fetch, upload, connect: null, identity: () => ({ "X-KVScope-Client": "me" }) });
  await client.start({ prompt: "a" });
  await client.family("r2");
  await client.keep("file", {});
  assert.deepEqual(sent, [
    ["/api/runs", { "X-KVScope-Client": "me", "Content-Type": "application/json" }],
    ["/api/runs/r2/family", { "X-KVScope-Client": "me" }],
    ["/api/sessions", { "X-KVScope-Client": "me" }],
  ]);
});

/** A server that gives these answers, status and body, one after another; and a client that hears where its run stands. */
function line(...answers) {
  const asked = [];
  const waits = [];
  const kept = new Map();
  const fetch = async (path, { method = "GET", headers }) => {
    asked.push(`${method} ${path}${headers.Authorization ? ` ${headers.Authorization}` : ""}`);
    const [status, body, more = {}] = answers.shift();
    return new Response(body && JSON.stringify(body), { status, headers: more });
  };
  const tokens = {
    add: (run, token) => kept.set(run, token),
    of: (run) => kept.get(run) ?? null,
    forget: (run) => kept.delete(run),
  };
  const onWaits = (place) => waits.push(place);
  const gate = { wait: Promise.resolve() };
  const client = createClient({ fetch, connect: () => null, tokens, onWaits, delay: () => gate.wait });
  return { client, asked, waits, gate };
}

const WAITS = { id: "r", delete_token: "t", status: "queued", place: 2, estimate_s: null };

test("the place of a run in the queue is reported until it starts", async () => {
  const next = { ...WAITS, place: 1, estimate_s: 8 };
  const { client, asked, waits } = line([202, WAITS], [202, next], [200, { status: "running" }]);
  assert.equal((await client.start({ prompt: "x" })).id, "r");
  assert.deepEqual(waits, [{ id: "r", place: 2, estimate_s: null }, { id: "r", place: 1, estimate_s: 8 }, null]);
  assert.deepEqual(asked, ["POST /api/runs", "GET /api/runs/r", "GET /api/runs/r"]);
});

test("a queued run is requested again while another web process takes over", async () => {
  const away = [503, { title: "Service Unavailable" }, { "Retry-After": "2" }];
  const { client, asked, waits } = line([202, WAITS], away, away, [202, WAITS], [200, { status: "running" }]);
  assert.equal((await client.start({ prompt: "x" })).id, "r");
  assert.equal(asked.length, 5);
  assert.equal(waits.at(-1), null);
});

test("a queued run fails if the server does not come back", async () => {
  const away = [503, { title: "Service Unavailable" }, { "Retry-After": "2" }];
  const { client } = line([202, WAITS], ...Array.from({ length: 100 }, () => away));
  await assert.rejects(client.start({ prompt: "x" }), { status: 503 });
});

test("the reason why a run did not start is its problem", async () => {
  const { client, waits } = line([202, WAITS], [413, { title: "Too long", detail: "It is too long." }]);
  await assert.rejects(client.fork("r0", { position: 3, token: 1 }), { detail: "It is too long.", status: 413 });
  assert.equal(waits.at(-1), null);
});

test("a run started here can be deleted, once", async () => {
  const { client, asked } = line([201, { id: "r", delete_token: "t" }], [204, null]);
  assert.equal(client.isMine("r"), false);
  await client.start({ prompt: "x" });
  assert.equal(client.isMine("r"), true);
  await client.remove("r");
  assert.equal(client.isMine("r"), false);
  assert.equal(asked.at(-1), "DELETE /api/runs/r Bearer t");
});

test("a run removed from the queue reports that", async () => {
  const { client, gate } = line([202, WAITS], [204, null], [404, { title: "Not Found" }]);
  let open;
  gate.wait = new Promise((resolve) => (open = resolve));
  const started = client.start({ prompt: "x" });
  await settled();
  await client.remove("r");
  open();
  await assert.rejects(started, { title: "Removed from the queue" });
});

test("an answer that is neither stored nor computed is a problem", async () => {
  const fetch = async () => new Response(null, { status: 204 });
  const client = createClient({ fetch, connect: () => null });
  const wanted = { run: "r1", step: 0 };
  for (const ask of [client.ask("lens"), client.ask("head"), client.embedding]) {
    await assert.rejects(ask(wanted), { name: "Problem", status: 204 });
  }
});

test("a run of this device is neither lost nor caught up with, whether the page is away or offline", async (t) => {
  const parts = wire({ stored: 1 });
  const { got, stop } = watching(parts, -1, "here-1");
  t.after(stop);
  await settled();
  parts.tell("offline");
  parts.server.stored = PAYLOADS.length;
  parts.tell("back");
  await settled();
  assert.deepEqual([got.connection, got.caughtUp], [[true], []]);
});
