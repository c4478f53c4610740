import { Code, ConnectError } from "@connectrpc/connect";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";

const LIMIT = 3;

describe("the streams that one caller has open (ERR-2)", () => {
  let workspace: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  let taskId: string;
  let open: AbortController[];

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({
      workspace,
      limits: { maxStreamsPerCaller: LIMIT },
    });
    client = clientOf(server);
    const { task } = await client.tasks.sendMessage({
      message: textMessage("m1", "hang"),
      returnImmediately: true,
    });
    taskId = task?.id ?? "";
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    open = [];
    for (let count = 0; count < LIMIT; count++) {
      open.push(await whenFree(subscribe));
    }
  });
  afterEach(() => {
    for (const stream of open) stream.abort();
  });

  it.each([
    {
      name: "A2A 0.3 over JSON-RPC",
      method: "tasks/resubscribe",
      path: "/",
      version: "0.3",
      status: 200,
    },
    {
      name: "A2A 0.3 over HTTP+JSON",
      method: "",
      path: "/v1/tasks/ID:subscribe",
      version: "0.3",
      status: 429,
    },
    {
      name: "A2A 1.0 over JSON-RPC",
      method: "SubscribeToTask",
      path: "/",
      version: "1.0",
      status: 200,
    },
    {
      name: "A2A 1.0 over HTTP+JSON",
      method: "",
      path: "/tasks/ID:subscribe",
      version: "1.0",
      status: 429,
    },
  ])("are limited over $name", async ({ method, path, version, status }) => {
    const params = { id: taskId };
    const body =
      method === ""
        ? undefined
        : JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(server.url + path.replace("ID", taskId), {
      method: "POST",
      headers: {
        authorization: `Bearer ${server.token}`,
        "a2a-version": version,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    expect(text).toContain(`has ${LIMIT} open: limit is ${LIMIT}`);
    expect(response.status).toBe(status);
    if (method !== "") expect(JSON.parse(text).error.code).toBe(-32004);
  });

  it.each(["Connect", "gRPC"] as const)(
    "are limited over %s, and a refused message starts nothing",
    async (name) => {
      const { tasks } = CLIENTS[name](server);
      const before = (await tasks.listTasks({})).tasks.length;
      const refused = { code: Code.ResourceExhausted };
      await expect(
        Array.fromAsync(tasks.subscribeTask({ taskId })),
      ).rejects.toMatchObject(refused);
      const sent = tasks.streamMessage({
        request: { message: textMessage("m2", "text no") },
      });
      await expect(Array.fromAsync(sent)).rejects.toMatchObject(refused);
      expect((await tasks.listTasks({})).tasks).toHaveLength(before);
    },
  );

  it.each([
    { name: "A2A 0.3 over JSON-RPC", path: "/", version: "0.3", status: 200 },
    {
      name: "A2A 0.3 over HTTP+JSON",
      path: "/v1/commands:execute",
      version: "0.3",
      status: 429,
    },
    { name: "A2A 1.0 over JSON-RPC", path: "/", version: "1.0", status: 200 },
    {
      name: "A2A 1.0 over HTTP+JSON",
      path: "/commands:execute",
      version: "1.0",
      status: 429,
    },
    {
      name: "Gemini CLI's own dialect",
      path: "/executeCommand",
      version: "",
      status: 429,
    },
  ])(
    "are limited over $name, and a refused command runs nothing",
    async ({ path, version, status }) => {
      const before = await countTasks();
      const asked = { command_path: ["about"] };
      const rpc = {
        jsonrpc: "2.0",
        id: 1,
        method: "command/execute",
        params: asked,
      };
      const body =
        path === "/" ? rpc : version === "" ? { command: "about" } : asked;
      const refused = await post(path, body, version);
      expect(await refused.text()).toContain(
        `has ${LIMIT} open: limit is ${LIMIT}`,
      );
      expect(refused.status).toBe(status);
      expect(await countTasks()).toBe(before);
      open.pop()?.abort();
      const run = async (): Promise<string> => {
        const text = await (await post(path, body, version)).text();
        if (text.includes("limit is")) {
          throw new ConnectError(text, Code.ResourceExhausted);
        }
        return text;
      };
      expect(await whenFree(run)).toContain("devtool");
      open.push(await whenFree(subscribe));
    },
  );

  it.each([
    { name: "A2A 0.3", path: "/", version: "0.3", method: "message/stream" },
    {
      name: "A2A 0.3 over HTTP+JSON",
      path: "/v1/message:stream",
      version: "0.3",
      method: "",
    },
    {
      name: "A2A 1.0",
      path: "/",
      version: "1.0",
      method: "SendStreamingMessage",
    },
    {
      name: "A2A 1.0 over HTTP+JSON",
      path: "/message:stream",
      version: "1.0",
      method: "",
    },
  ])(
    "refuse a streamed message over $name before it is accepted",
    async ({ path, version, method }) => {
      const before = await countTasks();
      const text =
        version === "1.0"
          ? { text: "text no" }
          : { kind: "text", text: "text no" };
      const message = {
        messageId: "m5",
        role: version === "1.0" ? "ROLE_USER" : "user",
        parts: [text],
      };
      const body =
        method === ""
          ? { message }
          : { jsonrpc: "2.0", id: 1, method, params: { message } };
      expect(await (await post(path, body, version)).text()).toContain(
        `limit is ${LIMIT}`,
      );
      expect(await countTasks()).toBe(before);
    },
  );

  it("are counted until they end", async () => {
    open.pop()?.abort();
    const request = { message: textMessage("m3", "text yes") };
    const events = await whenFree(() =>
      Array.fromAsync(client.tasks.streamMessage({ request })),
    );
    expect(events.length).toBeGreaterThan(1);
    open.push(await whenFree(subscribe));
    const refused = Array.fromAsync(client.tasks.subscribeTask({ taskId }));
    await expect(refused).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
  });

  it("count a retry of A2A 1.0 once, though the server also reads its task", async () => {
    open.pop()?.abort();
    const message = {
      messageId: "m4",
      role: "ROLE_USER",
      parts: [{ text: "text twice" }],
    };
    const send = async (): Promise<string> => {
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "SendStreamingMessage",
        params: { message },
      });
      const headers = {
        authorization: `Bearer ${server.token}`,
        "content-type": "application/json",
      };
      const response = await fetch(server.url, {
        method: "POST",
        headers: { ...headers, "a2a-version": "1.0" },
        body,
      });
      const text = await response.text();
      if (text.includes("limit is")) {
        throw new ConnectError(text, Code.ResourceExhausted);
      }
      return text;
    };
    expect(await whenFree(send)).toContain("COMPLETED");
    const again = await whenFree(send);
    expect(again).toContain("replay");
    expect(again).toContain("COMPLETED");
  });

  function post(
    path: string,
    body: object,
    version: string,
  ): Promise<Response> {
    const headers = {
      authorization: `Bearer ${server.token}`,
      "content-type": "application/json",
      accept: "text/event-stream",
      ...(version !== "" && { "a2a-version": version }),
    };
    return fetch(server.url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
  }

  async function countTasks(): Promise<number> {
    return (await client.tasks.listTasks({ pageSize: 100 })).tasks.length;
  }

  /**
   * Opens a stream and waits for its first event. Ends the stream when the
   * signal aborts.
   */
  async function subscribe(): Promise<AbortController> {
    const stop = new AbortController();
    const events = client.tasks
      .subscribeTask({ taskId }, { signal: stop.signal })
      [Symbol.asyncIterator]();
    await events.next();
    events.next().catch(() => undefined);
    return stop;
  }
});

/**
 * Tries again while the server has not noticed yet that a client left its
 * stream.
 */
async function whenFree<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (reason) {
      if (
        !(reason instanceof ConnectError) ||
        reason.code !== Code.ResourceExhausted
      ) {
        throw reason;
      }
    }
  }
}
