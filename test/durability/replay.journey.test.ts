import { existsSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
} from "@connectrpc/connect-node";
import {
  createDevtoolClient,
  type DevtoolClient,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Replay, TaskService } from "@devtool/schema";
import { REPLAY_URI } from "@devtool/schema/testing";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callRpc } from "../post-json.ts";

type Json = Record<string, unknown>;

const PART = {
  "0.3": { kind: "text", text: "text hi" },
  "1.0": { text: "text hi" },
};

describe("a message that is sent again (STREAM-7)", () => {
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await serveCodingAgent({ workspace: import.meta.dirname });
  });
  afterAll(() => server.close());

  it.each([
    { method: "message/send", version: "0.3", role: "user" },
    { method: "message/stream", version: "0.3", role: "user" },
    { method: "SendMessage", version: "1.0", role: "ROLE_USER" },
    { method: "SendStreamingMessage", version: "1.0", role: "ROLE_USER" },
  ] as const)(
    "is marked as a replay in the first answer of $method, and only there",
    async ({ method, version, role }) => {
      const message = {
        messageId: crypto.randomUUID(),
        role,
        parts: [PART[version]],
      };
      const first = await answersOf(method, message);
      expect(first.map(findReplay)).toEqual(first.map(() => undefined));
      const [again, ...others] = await answersOf(method, message);
      expect(findReplay(again)).toEqual({
        messageId: message.messageId,
        firstTime: expect.stringMatching(/^20.*Z$/),
      });
      expect(others.map(findReplay)).toEqual(others.map(() => undefined));
    },
  );

  it("is marked by a field over Connect", async () => {
    const client = createClient(
      TaskService,
      createConnectTransport({
        baseUrl: server.url,
        httpVersion: "1.1",
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", `Bearer ${server.token}`);
            return next(request);
          },
        ],
      }),
    );
    const request = {
      message: {
        messageId: "again",
        parts: [{ content: { case: "text", value: "text hi" } as const }],
      },
    };
    expect((await client.sendMessage(request)).replay).toBeUndefined();
    expect((await client.sendMessage(request)).replay).toMatchObject({
      messageId: "again",
    });
    const replays: (string | undefined)[] = [];
    for await (const { replay } of client.streamMessage({ request })) {
      replays.push(replay?.messageId);
    }
    expect(replays).toEqual([
      "again",
      ...replays.slice(1).map(() => undefined),
    ]);
  });

  it.each([
    ["0.3", "JSONRPC"],
    ["0.3", "HTTP+JSON"],
    ["1.0", "JSONRPC"],
    ["1.0", "HTTP+JSON"],
    ["1.0", "GRPC"],
  ])(
    "is reported by our client, over A2A %s in %s",
    async (protocolVersion, protocolBinding) => {
      const { url, token } = server;
      const grpc = (baseUrl: string) => createGrpcTransport({ baseUrl });
      const client = createDevtoolClient(
        createA2aTransport({
          url,
          token,
          protocolVersion,
          protocolBinding,
          grpc,
        }),
      );
      const message = textMessage(crypto.randomUUID(), "text hi");
      expect(
        (await client.tasks.sendMessage({ message })).replay,
      ).toBeUndefined();
      const again = await client.tasks.sendMessage({ message });
      expect(again.replay).toMatchObject({
        messageId: message.messageId,
        firstTime: { seconds: expect.anything() },
      });
      const replays: string[] = [];
      const onReplay = ({ messageId }: Replay): void =>
        void replays.push(messageId);
      for await (const _event of streamMessage(
        client,
        { message },
        AbortSignal.timeout(30_000),
        { onReplay },
      )) {
      }
      expect(replays).toEqual([message.messageId]);
      const fresh = textMessage(crypto.randomUUID(), "text ho");
      for await (const _event of streamMessage(
        client,
        { message: fresh },
        AbortSignal.timeout(30_000),
        { onReplay },
      )) {
      }
      expect(replays).toHaveLength(1);
    },
  );

  it("has the sequences of its first exchange, also for a client that knows the whole task", async () => {
    const { url, token } = server;
    const connect = (): DevtoolClient =>
      createDevtoolClient(
        createA2aTransport({ url, token, protocolVersion: "0.3" }),
      );
    const { task } = await connect().tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "text hi"),
    });
    const taskId = task?.id ?? "";
    const message = textMessage(crypto.randomUUID(), "text ho");
    const played: bigint[][] = [];
    const [one, other] = [connect(), connect()];
    for (const client of [one, one, other]) {
      if (client === other) await client.tasks.getTask({ taskId });
      const sequences: bigint[] = [];
      const exchange = streamMessage(
        client,
        { taskId, message },
        AbortSignal.timeout(30_000),
      );
      for await (const { sequence } of exchange) sequences.push(sequence);
      played.push(sequences);
    }
    expect(played).toEqual([played[0], played[0], played[0]]);
  });

  it.each([
    { method: "message/send", version: "0.3", role: "user" },
    { method: "SendMessage", version: "1.0", role: "ROLE_USER" },
  ] as const)(
    "is not taken as the answer to a later question: a yes in words, by $method (CARD-3)",
    async ({ method, role, version }) => {
      const workspace = temporaryDirectory();
      await using asking = await serveCodingAgent({ workspace });
      const say = async (text: string, more: Json): Promise<Json> => {
        const parts = [{ ...PART[version], text }];
        const [answer] = await answersOf(
          method,
          { messageId: crypto.randomUUID(), role, parts, ...more },
          asking,
        );
        return Object(Object(answer).task ?? answer);
      };
      const { id: taskId } = await say(
        "write one.txt\nnext\nwrite two.txt",
        {},
      );
      const answers = [
        await say("yes", { taskId, messageId: "y" }),
        await say("yes", { taskId, messageId: "y" }),
      ];
      expect(answers.map(findReplay)).toEqual([
        undefined,
        { messageId: "y", firstTime: expect.any(String) },
      ]);
      expect(
        ["one.txt", "two.txt"].map((file) => existsSync(join(workspace, file))),
      ).toEqual([true, false]);
      await say("yes", { taskId });
      expect(existsSync(join(workspace, "two.txt"))).toBe(true);
    },
  );

  async function answersOf(
    method: string,
    message: Json,
    target = server,
  ): Promise<Json[]> {
    const response = await callRpc(
      target,
      method,
      { message },
      { accept: "application/json, text/event-stream" },
    );
    const text = await response.text();
    const bodies = text.startsWith("{")
      ? [text]
      : [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data);
    return bodies.map((body): Json => JSON.parse(body).result);
  }
});

/**
 * Returns the replay mark in the metadata of an answer; 1.0 nests the answer
 * under a name.
 */
function findReplay(answer: Json | undefined): unknown {
  const { task, statusUpdate } = answer ?? {};
  const { metadata } = Object(task ?? statusUpdate ?? answer);
  return Object(metadata)[REPLAY_URI];
}
