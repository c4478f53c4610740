import { createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { Heartbeats } from "./heartbeats.ts";
import { SseStream } from "./sse.ts";

/**
 * With 1 KiB each, more than the socket buffers of both ends hold: a client
 * that reads nothing must be noticed.
 */
const FRAMES = 40_000;
const FRAME = "x".repeat(1024);

describe("a stream of server-sent events", () => {
  const cleanups: (() => void)[] = [];
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
  });

  it("sends each event with its id, on one line (STREAM-3)", async () => {
    const { response, text } = await open();
    using sse = new SseStream(
      response,
      { "x-a2a-extensions": "uri" },
      new Heartbeats(60_000),
    );
    await sse.send('{"a":1}', 7n);
    await sse.send('{"b":2}');
    await sse.end();
    expect(await text()).toBe('id: 7\ndata: {"a":1}\n\ndata: {"b":2}\n\n');
  });

  it("sends an event with its type, and each line of data as data", async () => {
    const { response, text } = await open();
    using sse = new SseStream(response, {}, new Heartbeats(60_000));
    await sse.send("{}", 1n, "response.created");
    await sse.send("one\ntwo\r\nevent: three\rid: 4");
    await sse.end();
    expect(await text()).toBe(
      "id: 1\nevent: response.created\ndata: {}\n\n" +
        "data: one\ndata: two\ndata: event: three\ndata: id: 4\n\n",
    );
  });

  it("writes events of one turn of the event loop together", async () => {
    const { response } = await open();
    const written: string[] = [];
    const write = response.write.bind(response);
    response.write = (text: string) => {
      written.push(text);
      return write(text);
    };
    using sse = new SseStream(response, {}, new Heartbeats(60_000));
    for (let index = 1n; index <= 100n; index++) await sse.send("{}", index);
    await nextTurn();
    expect(written.length).toBe(1);
  });

  it("sends heartbeats as comments, which no client reads as events", async () => {
    const { response, text } = await open();
    const beaten = Promise.withResolvers<void>();
    const write = response.write.bind(response);
    response.write = (text: string) => {
      if (text.includes(": heartbeat")) beaten.resolve();
      return write(text);
    };
    using sse = new SseStream(response, {}, new Heartbeats(60));
    await sse.send("{}", 1n);
    await beaten.promise;
    await sse.end();
    const events = (await text()).split("\n\n");
    expect(events).toContain(": heartbeat");
    expect(events.filter((event) => event.includes("data:"))).toEqual([
      "id: 1\ndata: {}",
    ]);
  });

  it("makes its sender wait for a client that reads nothing, also with small events", async () => {
    const { response } = await open({ stalled: true });
    using sse = new SseStream(response, {}, new Heartbeats(60_000));
    const sent = await sendUntilItWaits(sse);
    expect(sent).toBeLessThan(FRAMES);
    expect(response.writableLength).toBeLessThan(1024 * 1024);
  });

  it("releases a waiting sender when the client disconnects", async () => {
    const { response, client } = await open({ stalled: true });
    using sse = new SseStream(response, {}, new Heartbeats(60_000));
    const sending = sendAll(sse);
    await nextTurn();
    client().destroy();
    await expect(sending).resolves.toBeUndefined();
  });

  /**
   * Sends one event per turn of the event loop, as a live task does, until one
   * has to wait. Returns the number sent.
   */
  async function sendUntilItWaits(sse: SseStream): Promise<number> {
    for (let sent = 0; sent < FRAMES; sent++) {
      let taken = 0;
      void Promise.resolve(sse.send(FRAME, BigInt(sent))).then(() => taken++);
      for (let turns = 0; turns < 1000 && taken === 0; turns++) {
        await nextTurn();
      }
      if (taken === 0) return sent;
    }
    return FRAMES;
  }

  async function sendAll(sse: SseStream): Promise<void> {
    for (let sent = 0; sent < FRAMES; sent++) {
      await sse.send(FRAME, BigInt(sent));
    }
  }

  /** Opens a response that has not begun, and its client. */
  async function open({ stalled = false } = {}) {
    const arrived = Promise.withResolvers<ServerResponse>();
    const sockets: Socket[] = [];
    const body = Promise.withResolvers<string>();
    const server = createServer((_request, response) =>
      arrived.resolve(response),
    );
    await new Promise<void>((resolve) =>
      server.listen(0, "127.0.0.1", resolve),
    );
    const address: AddressInfo | string | null = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const sent = request({ host: "127.0.0.1", port }, async (response) => {
      if (stalled) return void response.pause();
      let text = "";
      for await (const chunk of response) text += chunk;
      body.resolve(text);
    });
    sent
      .on("socket", (socket) => sockets.push(socket))
      .on("error", () => undefined);
    sent.end();
    cleanups.push(
      () => sent.destroy(),
      () => server.closeAllConnections(),
      () => server.close(),
    );
    const client = (): Socket =>
      sockets[0] ?? expect.fail("the client has a socket");
    return {
      response: await arrived.promise,
      text: () => body.promise,
      client,
    };
  }
});
