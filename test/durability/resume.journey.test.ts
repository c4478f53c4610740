import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  type DevtoolClient,
  streamMessage,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import {
  type CuttingProxy,
  startCuttingProxy,
} from "@devtool/conformance/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { TaskEvent } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { roundsOf, seedOf } from "../depth.ts";

const DROPS = roundsOf("DEVTOOL_DROPS", { quick: 20, ci: 200, deep: 10_000 });
/** Only stops a test that hangs: far more than a cut takes. */
const TIMEOUT_MS = 240_000 + DROPS * 500;
const QUICK = { baseDelayMs: 1, maxAttempts: 1000 };

describe("a stream whose connection is cut at any byte (R4)", () => {
  let server: DevtoolServer;
  let proxy: CuttingProxy;
  let workspace: string;
  let seed = seedOf();

  beforeAll(async () => {
    workspace = temporaryDirectory();
    const random = () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed / 2_147_483_648;
    };
    proxy = await startCuttingProxy(
      () => server.url,
      () => 200 + Math.floor(random() * 40_000),
    );
    const allowedHosts = [new URL(proxy.url).host];
    server = await serveCodingAgent({
      workspace,
      dataDirectory: temporaryDirectory(),
      allowedHosts,
    });
  });

  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await server.close();
  });

  // A connection for each request, so that each can be cut.
  const named: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      headers: {
        ...Object.fromEntries(new Headers(init?.headers)),
        connection: "close",
      },
    });

  const clients: Record<string, () => DevtoolClient> = {
    SSE: () =>
      createDevtoolClient(
        createA2aTransport({
          url: proxy.url,
          token: server.token,
          fetch: named,
        }),
      ),
    "A2A 1.0": () =>
      createDevtoolClient(
        createA2aTransport({
          url: proxy.url,
          token: server.token,
          fetch: named,
          protocolVersion: "1.0",
        }),
      ),
    "A2A 0.3 over HTTP+JSON": () =>
      createDevtoolClient(
        createA2aTransport({
          url: proxy.url,
          token: server.token,
          fetch: named,
          protocolBinding: "HTTP+JSON",
        }),
      ),
    Connect: () =>
      createDevtoolClient(
        createConnectTransport({
          baseUrl: proxy.url,
          httpVersion: "1.1",
          interceptors: [bearerInterceptor(server.token)],
          nodeOptions: { agent: false },
        }),
      ),
  };

  for (const [name, connect] of Object.entries(clients)) {
    it(`is read without gap or double over ${name}, through ${DROPS / 2} cuts`, {
      timeout: TIMEOUT_MS,
    }, async () => {
      const client = connect();
      const before = proxy.cuts();
      let streams = 0;
      while (proxy.cuts() - before < DROPS / 2) {
        streams++;
        const signal = AbortSignal.timeout(300_000);
        const message = textMessage(
          crypto.randomUUID(),
          "think 3\nsay 150\nwait 5\nsay 150",
        );
        const events = await Array.fromAsync(
          streamMessage(client, { message }, signal, QUICK),
        );
        expect(gapsAndDoubles(events)).toBe(0);
        const taskId = events[0]?.taskId ?? "";
        expect(
          await Array.fromAsync(
            subscribeTask(client, { taskId }, signal, QUICK),
          ),
        ).toHaveLength(events.length);
      }
      console.info(
        `R4 ${name}: ${streams} streams, ${proxy.cuts() - before} cuts, 0 gaps, 0 doubles`,
      );
    });
  }

  it("is caught when a client begins again at the wrong place (sabotage of R4)", async () => {
    const client = createDevtoolClient(
      createA2aTransport({ url: server.url, token: server.token }),
    );
    const message = textMessage(crypto.randomUUID(), "say 20");
    const events = await Array.fromAsync(
      streamMessage(client, { message }, AbortSignal.timeout(180_000)),
    );
    expect(gapsAndDoubles([...events.slice(0, 5), ...events.slice(4)])).toBe(1);
    expect(gapsAndDoubles([...events.slice(0, 5), ...events.slice(6)])).toBe(1);
  });
});

function gapsAndDoubles(events: readonly TaskEvent[]): number {
  return events.filter(
    ({ sequence }, index) =>
      index > 0 && sequence !== (events[index - 1]?.sequence ?? 0n) + 1n,
  ).length;
}
