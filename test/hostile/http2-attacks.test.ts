import { serveCodingAgent } from "@devtool/coding-agent";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  END_HEADERS,
  END_STREAM,
  endAfter,
  type Fields,
  fieldBlock,
  frame,
  headers,
  statusOf,
} from "./http2/frames.ts";

const MANY = 20_000;
const EVIL = "evil.example";

describe("HTTP/2 with frames that no client writes", () => {
  let server: DevtoolServer;
  let port: number;
  let host: string;

  beforeAll(async () => {
    server = await serveCodingAgent();
    host = new URL(server.url).host;
    port = Number(new URL(server.url).port);
  });
  afterAll(() => server.close());

  it("serves a valid request (control)", async () => {
    expect(await statusOf(port, headers(1, get()))).toBe("200");
    expect(await statusOf(port, headers(1, [...get(), ["host", host]]))).toBe(
      "200",
    );
  });

  it("refuses requests for another host, or for more than one (S5)", async () => {
    const requests: Readonly<Record<string, Fields>> = {
      "another authority": get({ ":authority": EVIL }),
      "another name with the right port": get({
        ":authority": `${EVIL}:${port}`,
      }),
      "a user in front of the authority": get({
        ":authority": `${EVIL}@${host}`,
      }),
      "two authorities": [...get(), [":authority", EVIL]],
      "another host beside it": [...get(), ["host", EVIL]],
      "two hosts without an authority": [
        ...get({ ":authority": undefined }),
        ["host", host],
        ["host", EVIL],
      ],
      "an empty authority and another host": [
        ...get({ ":authority": "" }),
        ["host", EVIL],
      ],
      "no name": get({ ":authority": undefined }),
      "an address for a path": get({ ":path": `http://${EVIL}/healthz` }),
    };
    for (const [what, fields] of Object.entries(requests)) {
      expect(["403", "refused"], what).toContain(
        await statusOf(port, headers(1, fields)),
      );
    }
  });

  it("refuses requests with fields that HTTP/2 forbids", async () => {
    const requests: Readonly<Record<string, Fields>> = {
      "chunks of HTTP/1.1": [...get(), ["transfer-encoding", "chunked"]],
      "an upgrade": [...get(), ["connection", "upgrade"]],
      "capitals in a name": [...get(), ["X-Name", "1"]],
      "pseudo-header fields at the end": [["x-name", "1"], ...get()],
      "a tunnel": [
        [":method", "CONNECT"],
        [":authority", "127.0.0.1:22"],
      ],
      "a tunnel for a web socket": [
        ...get({ ":method": "CONNECT" }),
        [":protocol", "websocket"],
      ],
    };
    for (const [what, fields] of Object.entries(requests)) {
      expect(["405", "refused"], what).toContain(
        await statusOf(port, headers(1, fields)),
      );
    }
  });

  it("ignores credentials and methods in trailers", async () => {
    const begun = headers(
      1,
      [...post(), ["content-type", "application/json"]],
      END_HEADERS,
    );
    const body = frame("data", 1, {
      payload: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tasks/get"}'),
    });
    const authorization = ["authorization", `Bearer ${server.token}`] as const;
    expect(await statusOf(port, begun, body, headers(1, [authorization]))).toBe(
      "401",
    );
    const known = headers(
      1,
      [...post(), ["content-type", "application/json"], authorization],
      END_HEADERS,
    );
    expect(
      await statusOf(port, known, body, headers(1, [[":method", "GET"]])),
    ).toBe("refused");
  });

  const streams = Array.from({ length: MANY }, (_, at) => 2 * at + 1);
  it.each<[string, () => readonly Buffer[]]>([
    [
      "resets of streams",
      () =>
        streams.flatMap((id) => [
          headers(id, get()),
          frame("reset", id, { payload: CANCEL }),
        ]),
    ],
    [
      "pings",
      () => streams.map(() => frame("ping", 0, { payload: Buffer.alloc(8) })),
    ],
    ["settings", () => streams.map(() => frame("settings", 0))],
    [
      "headers without an end",
      () => [
        headers(1, get(), END_STREAM),
        ...streams.map(() => frame("continuation", 1)),
      ],
    ],
    [
      "headers of 16 MB",
      () => [
        headers(1, get(), END_STREAM),
        ...streams.slice(0, 1000).map(() => BIG),
      ],
    ],
    [
      "frames without data",
      () => [
        headers(1, post(), END_HEADERS),
        ...streams.map(() => frame("data", 1)),
      ],
    ],
    [
      "updates of a window by nothing",
      () => [
        headers(1, post(), END_HEADERS),
        frame("windowUpdate", 1, { payload: ZERO }),
      ],
    ],
    [
      "more data than was announced",
      () => [
        headers(1, [...post(), ["content-length", "1"]], END_HEADERS),
        DATA,
      ],
    ],
  ])(
    "closes a connection that sends %s, and serves others (S3)",
    async (_what, frames) => {
      await endAfter(port, ...frames());
      expect(await statusOf(port, headers(1, get()))).toBe("200");
    },
  );

  function get(
    changes: Readonly<Record<string, string | undefined>> = {},
  ): Fields {
    const usual = {
      ":method": "GET",
      ":scheme": "http",
      ":path": "/healthz",
      ":authority": host,
      ...changes,
    };
    return Object.entries(usual).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    );
  }

  function post(): Fields {
    return get({ ":method": "POST", ":path": "/" });
  }
});

const CANCEL = Buffer.from([0, 0, 0, 8]);
const ZERO = Buffer.alloc(4);
const DATA = frame("data", 1, {
  flags: END_STREAM,
  payload: Buffer.from("more"),
});
const BIG = frame("continuation", 1, {
  payload: fieldBlock([["x-name", "y".repeat(16_000)]]),
});
