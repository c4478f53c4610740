import type { JsonObject } from "@bufbuild/protobuf";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { ListeningTransport } from "./listening-transport.ts";
import type { PortTasks } from "./port.ts";

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

const LISTEN: JSONRPCMessage = {
  jsonrpc: "2.0",
  id: 7,
  method: "subscriptions/listen",
  params: {
    notifications: { taskIds: ["t1"] },
    _meta: {
      [CAPABILITIES]: { extensions: { "io.modelcontextprotocol/tasks": {} } },
    },
  },
};

const ACKNOWLEDGED: JSONRPCMessage = {
  jsonrpc: "2.0",
  method: "notifications/subscriptions/acknowledged",
  params: {
    notifications: {
      resourceSubscriptions: ["devtool:notifications-of-task/t1"],
    },
    _meta: { [SUBSCRIPTION]: 7 },
  },
};

/** Connects a transport, and returns what goes each way. */
async function connect(get: PortTasks["get"]) {
  const sent: JsonObject[] = [];
  const received: JSONRPCMessage[] = [];
  const reported: unknown[] = [];
  const wire: Transport = {
    start: () => Promise.resolve(),
    send: async (message) =>
      void sent.push(JSON.parse(JSON.stringify(message))),
    close: () => Promise.resolve(),
  };
  const refuse = () => Promise.reject(new Error("not here"));
  const transport = new ListeningTransport(
    wire,
    {
      send: refuse,
      get,
      follow: async function* () {},
      cancel: refuse,
      list: refuse,
    },
    (reason) => reported.push(reason),
  );
  transport.onmessage = (message) => void received.push(message);
  await transport.start();
  return {
    transport,
    sent,
    received,
    reported,
    hear: (message: JSONRPCMessage) => wire.onmessage?.(message),
  };
}

describe("a subscription over standard streams", () => {
  const unavailable = new DevtoolError("the store is away", Code.Unavailable);

  it("that cannot be begun is answered with why", async () => {
    const { hear, sent, received } = await connect(() =>
      Promise.reject(unavailable),
    );
    hear(LISTEN);
    await expect
      .poll(() => sent)
      .toEqual([
        {
          jsonrpc: "2.0",
          id: 7,
          error: { code: -32603, message: "the store is away" },
        },
      ]);
    expect(received).toEqual([]);
  });

  it("that is cancelled before it is open never opens", async () => {
    const held = Promise.withResolvers<never>();
    const { hear, sent, received } = await connect(() => held.promise);
    hear(LISTEN);
    hear({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 7 },
    });
    held.reject(new DevtoolError("there is none", Code.NotFound));
    await new Promise((resolve) => setImmediate(resolve));
    expect(received.map((message) => "id" in message)).toEqual([false]);
    expect(sent).toEqual([]);
  });

  it("that cannot be served any more ends with why", async () => {
    let isThere = true;
    const { hear, transport, sent, received, reported } = await connect(
      async () => {
        if (isThere) return Object.create(null);
        throw unavailable;
      },
    );
    hear(LISTEN);
    await expect.poll(() => received).toHaveLength(1);
    isThere = false;
    await transport.send(ACKNOWLEDGED);
    await expect.poll(() => sent).toHaveLength(2);
    expect(sent[1]).toEqual({
      jsonrpc: "2.0",
      id: 7,
      error: { code: -32603, message: "the store is away" },
    });
    expect(received[1]).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: 7 },
    });
    expect(reported).toEqual([unavailable]);
  });
});
