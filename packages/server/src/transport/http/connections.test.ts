import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import {
  setTimeout as delay,
  setImmediate as nextTurn,
} from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readBody } from "./body.ts";
import { type HttpListener, listen } from "./listener.ts";
import { type Route, send } from "./route.ts";
import {
  CONNECTION_TIMEOUTS,
  type ConnectionLimits,
} from "./sniffing-server.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

describe("the connections of a server", () => {
  let listener: HttpListener | undefined;
  let opened: (Socket | ClientHttp2Session)[] = [];
  beforeEach(() => {
    opened = [];
  });
  afterEach(async () => {
    vi.useRealTimers();
    for (const connection of opened) connection.destroy();
    await listener?.close(0);
  });

  it.each([
    ["only says PRI", ["PRI"]],
    ["says the preface of HTTP/2", [PREFACE]],
    ["says the preface and its settings", [PREFACE, SETTINGS]],
  ])(
    "are closed without an authenticated request: one that %s",
    async (_what, says) => {
      await serve({ admissionTimeoutMs: 50 });
      const socket = open().resume();
      for (const data of says) socket.write(data);
      await once(socket, "close");
    },
  );

  it("are closed after requests without credentials only", async () => {
    stopTheClock();
    await serve({ admissionTimeoutMs: 1_000 });
    const session = openHttp2();
    const closed = once(session, "close");
    expect(await statusOf(session, {})).toBe(401);
    vi.advanceTimersByTime(1_000);
    await closed;
  });

  it.each([
    ["stay when they are right", RIGHT, 404],
    ["are closed when they are wrong", {}, 401],
  ])(
    "stay until their credentials are checked, which came in time, and %s",
    async (_what, headers, status) => {
      stopTheClock();
      const begun = Promise.withResolvers<void>();
      const checked = Promise.withResolvers<void>();
      await serve({ admissionTimeoutMs: 2_000 }, [], () => {
        begun.resolve();
        return checked.promise;
      });
      const session = openHttp2();
      const closed = once(session, "close");
      const answer = statusOf(session, headers);
      await begun.promise;
      vi.advanceTimersByTime(2_000);
      await nextTurn();
      checked.resolve();
      expect(await answer).toBe(status);
      if (status === 401) await closed;
    },
  );

  it("stay open after an authenticated request, and are closed when they are idle for long", async () => {
    stopTheClock();
    await serve({ admissionTimeoutMs: 1_000, idleTimeoutMs: 2_000 });
    const session = openHttp2();
    const closed = once(session, "close");
    for (const idleMs of [1_999, 1_999, 2_000]) {
      expect(await statusOf(session, RIGHT)).toBe(404);
      // The server waits from when it has noticed the end of the stream.
      while (vi.getTimerCount() === 0) await nextTurn();
      vi.advanceTimersByTime(idleMs);
      await nextTurn();
    }
    await closed;
  });

  it("are closed at their timeout when a thousand send headers byte by byte, and others are served meanwhile (S3)", async () => {
    await serve({
      headersTimeoutMs: 1_000,
      requestTimeoutMs: 1_000,
      maxConnections: 2_000,
    });
    const since = performance.now();
    const slow = Array.from({ length: 1_000 }, () => open().resume());
    // On a busy machine, some close before the request below is answered, so
    // their ends are awaited from here.
    const ends = slow.map(
      (socket) =>
        new Promise<number>((resolve) =>
          socket.once("close", () => resolve(performance.now() - since)),
        ),
    );
    let bytes = 0;
    const drip = setInterval(() => {
      bytes++;
      for (const socket of slow) if (socket.writable) socket.write("y");
    }, 800);
    for (const socket of slow) {
      socket
        .on("error", () => undefined)
        .write("POST / HTTP/1.1\r\nhost: a\r\nx-slow: ");
    }
    expect(await statusOf(openHttp2(), { authorization: "right" })).toBe(404);
    const lifetimes = await Promise.all(ends).finally(() =>
      clearInterval(drip),
    );
    expect(Math.min(...lifetimes)).toBeGreaterThan(900);
    // By itself, Node checks its connections every 30 seconds, in which 37
    // bytes are sent. Counted, since a busy machine is slow.
    expect(bytes).toBeLessThan(30);
  });

  it("get their answers when the server stood still for longer than they may take", async () => {
    stopTheClock();
    await serve({ headersTimeoutMs: 30_000 });
    const socket = open();
    // Once the server answers a later connection, it has accepted this one too.
    expect(await statusOf(openHttp2(), RIGHT)).toBe(404);
    // After a timer, as where one is due first: before what has arrived is read.
    await delay(1);
    socket.write(
      `GET /nothing HTTP/1.1\r\nhost: ${new URL(listener?.url ?? "").host}\r\nauthorization: right\r\n\r\n`,
    );
    vi.advanceTimersByTime(30_000);
    const [answer] = await once(socket, "data");
    expect(String(answer)).toContain("404");
  });

  it("without credentials make room for new ones, so that nobody is locked out", async () => {
    await serve({ maxConnections: 8 });
    const first = openHttp2();
    expect(await statusOf(first, { authorization: "right" })).toBe(404);
    for (let index = 0; index < 20; index++) {
      await once(
        open().on("error", () => undefined),
        "connect",
      );
    }
    const late = openHttp2();
    expect(await statusOf(late, { authorization: "right" })).toBe(404);
    expect(await statusOf(first, { authorization: "right" })).toBe(404);
  });

  it("without data, as browsers open them in advance, do not delay the close of a server", async () => {
    await serve({ headersTimeoutMs: 120_000, requestTimeoutMs: 120_000 });
    const socket = open().resume();
    // Once the server answers a later connection, it has accepted this one too.
    expect(await statusOf(openHttp2(), { authorization: "right" })).toBe(404);
    const ended = once(socket, "close");
    await listener?.close(120_000);
    await ended;
  });

  describe.each([
    ["nothing was sent", ""],
    ["half of a request's headers was sent", "POST /read HTTP/1.1\r\nhost: "],
    [
      "half of a request's body was sent",
      "POST /read HTTP/1.1\r\nhost: HOST\r\ncontent-length: 10\r\n\r\nabc",
    ],
    ["a response is not read", "GET /much HTTP/1.1\r\nhost: HOST\r\n\r\n"],
    ["half of a session of HTTP/2 was opened", PREFACE],
  ])("where %s", (_what, sent) => {
    it("do not delay the close of a server", async () => {
      await serve(
        { headersTimeoutMs: 120_000, requestTimeoutMs: 120_000 },
        ROUTES,
      );
      const socket = open().pause();
      socket.on("error", () => undefined);
      socket.write(sent.replace("HOST", new URL(listener?.url ?? "").host));
      // Once the server answers later connections, it has read the data of this
      // one.
      for (let turn = 0; turn < 3; turn++) {
        expect(await statusOf(openHttp2(), RIGHT)).toBe(404);
      }
      await listener?.close(120_000);
    });
  });

  it("of HTTP/2 whose client does not read do not delay the close of a server", async () => {
    await serve({ admissionTimeoutMs: 120_000 }, ROUTES);
    const session = openHttp2().on("error", () => undefined);
    const stream = session
      .request({ ":path": "/much" })
      .on("error", () => undefined);
    await once(stream, "response");
    await listener?.close(120_000);
  });

  it.each(["HTTP/1.1", "HTTP/2"])(
    "of %s get the response that is in progress when the server closes, and no other",
    async (version) => {
      const answer = Promise.withResolvers<void>();
      const asked = Promise.withResolvers<void>();
      const slow = routeOf("/slow", async (_request, response) => {
        asked.resolve();
        await answer.promise;
        send(response, 200, { body: "{}" });
      });
      await serve({}, [slow]);
      const status =
        version === "HTTP/2"
          ? statusOf(openHttp2(), { ":path": "/slow" })
          : fetch(`${listener?.url}/slow`).then(({ status }) => status);
      await asked.promise;
      listener?.stopTaking();
      await expect(fetch(`${listener?.url}/slow`)).rejects.toThrow();
      const closed = listener?.close(120_000);
      answer.resolve();
      expect(await status).toBe(200);
      await closed;
    },
  );

  async function serve(
    limits: Partial<ConnectionLimits>,
    routes: readonly Route[] = [],
    check: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    listener = await listen({
      host: "127.0.0.1",
      port: 0,
      allowedHosts: [],
      allowedOrigins: [],
      ownPages: false,
      limits: {
        ...CONNECTION_TIMEOUTS,
        maxConnections: 100,
        maxConcurrentStreams: 10,
        ...limits,
      },
      onError: () => undefined,
    });
    listener.serve({
      routes,
      authenticator: {
        authenticate: async ({ headers }) => {
          await check();
          return headers.authorization === "right"
            ? { case: "caller", value: { principal: "p", rights: new Set() } }
            : { case: "none" };
        },
      },
    });
  }

  function open(): Socket {
    const socket = connect(
      Number(new URL(listener?.url ?? "").port),
      "127.0.0.1",
    );
    opened.push(socket);
    return socket;
  }

  function openHttp2(): ClientHttp2Session {
    const session = connectHttp2(listener?.url ?? "");
    opened.push(session);
    return session;
  }
});

/** Stops the clock of the server's own timers; Node's go on. */
function stopTheClock(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
}

function routeOf(path: string, handle: Route["handle"]): Route {
  return {
    name: path,
    access: "public",
    matches: (_method, asked) => asked === path,
    handle,
  };
}

/**
 * A route that reads its request, and one whose response is larger than the
 * buffers of a connection.
 */
const ROUTES: readonly Route[] = [
  routeOf("/read", async (request, response) =>
    send(response, 200, { body: await readBody(request, 100) }),
  ),
  routeOf("/much", (_request, response) =>
    send(response, 200, { body: "x".repeat(32 * 1024 * 1024) }),
  ),
];

const RIGHT = { authorization: "right" };

async function statusOf(
  session: ClientHttp2Session,
  headers: Record<string, string>,
): Promise<unknown> {
  const stream = session.request({ ":path": "/nothing", ...headers });
  stream.resume();
  const [answer] = await once(stream, "response");
  return answer[":status"];
}
