import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  modifiedArgumentsPart,
  pendingToolCalls,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type PartSchema, Role, TaskState } from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

type Part = MessageInitShape<typeof PartSchema>;

const NAN = { kind: { case: "numberValue", value: Number.NaN } } as const;

/** Parts that a binary message can hold and JSON cannot. */
const PARTS: Readonly<Record<string, Part>> = {
  "NaN as data": { content: { case: "dataValue", value: NAN } },
  "infinity, deep in a list": {
    content: {
      case: "dataValue",
      value: {
        kind: {
          case: "listValue",
          value: {
            values: [{ kind: { case: "numberValue", value: Infinity } }],
          },
        },
      },
    },
  },
  "a value of no kind": { content: { case: "dataValue", value: {} } },
  "NaN as data of an object": {
    content: { case: "data", value: { a: Number.NaN } },
  },
  "NaN in metadata": {
    content: { case: "text", value: "hello" },
    metadata: { a: { b: [Number.NaN] } },
  },
};

describe("a value that JSON cannot hold, in a binary message", () => {
  let workspace: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
  });
  afterAll(() => server.close());

  const transports: Readonly<Record<string, () => Transport>> = {
    Connect: () => createConnectTransport({ ...options(), httpVersion: "1.1" }),
    gRPC: () => createGrpcTransport(options()),
    "gRPC-Web": () =>
      createGrpcWebTransport({ ...options(), httpVersion: "1.1" }),
  };

  describe.each(Object.entries(transports))("over %s", (_, over) => {
    it.each(Object.entries(PARTS))(
      "is refused, and recorded nowhere: %s",
      async (what, part) => {
        const { tasks } = createDevtoolClient(over());
        const contextId = crypto.randomUUID();
        const message = {
          messageId: crypto.randomUUID(),
          role: Role.USER,
          parts: [part],
        };
        const refused = {
          code: Code.InvalidArgument,
          rawMessage: expect.stringContaining("has no JSON form"),
        };
        await expect(
          tasks.sendMessage({ message, contextId }),
          what,
        ).rejects.toMatchObject(refused);
        await expect(
          Array.fromAsync(
            tasks.streamMessage({ request: { message, contextId } }),
          ),
          what,
        ).rejects.toMatchObject(refused);
        expect((await tasks.listTasks({ contextId })).tasks).toEqual([]);
      },
    );
  });

  it("is refused over gRPC of A2A 1.0", async () => {
    const a2a = createClient(A2AService, createGrpcTransport(options()));
    const parts = [{ content: { case: "data", value: NAN } } as const];
    const sent = a2a.sendMessage({ message: { messageId: "m", parts } });
    const rawMessage = expect.stringContaining("has no JSON form");
    await expect(sent).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage,
    });
  });

  it("is refused in arguments that a user changes; the question stays, and every dialect shows it", async () => {
    const { tasks } = createDevtoolClient(createGrpcTransport(options()));
    const text = {
      content: { case: "text", value: "run eval echo theirs" },
    } as const;
    const { task } = await tasks.sendMessage({
      message: { messageId: "asked", role: Role.USER, parts: [text] },
    });
    const [call = expect.unreachable()] = pendingToolCalls(
      task ?? expect.unreachable(),
    );
    const part = modifiedArgumentsPart(call, { command: "ls", n: Number.NaN });
    const message = { messageId: "edited", role: Role.USER, parts: [part] };
    await expect(
      tasks.sendMessage({ taskId: task?.id ?? "", message }),
    ).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining(
        "modified_arguments has no JSON form",
      ),
    });
    const shown = await fetch(`${server.url}/v1/tasks/${task?.id}`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    expect([shown.status, task?.state]).toEqual([
      200,
      TaskState.INPUT_REQUIRED,
    ]);
  });

  it("is refused as a number that JSON can write and no reader can hold", async () => {
    const body =
      '{"message":{"messageId":"m","parts":[{"data":{"a":[1e999]}}]}}';
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${server.token}`,
    };
    const path = "/devtool.v1alpha.TaskService/SendMessage";
    const refused = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers,
      body,
    });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("whose digits would be lost"),
    ]);
  });

  it("would be sent by these clients (sabotage)", () => {
    expect(
      toBinary(ValueSchema, create(ValueSchema, NAN)).length,
    ).toBeGreaterThan(0);
    expect(toBinary(ValueSchema, create(ValueSchema, {})).length).toBe(0);
  });

  function options() {
    return {
      baseUrl: server.url,
      interceptors: [bearerInterceptor(server.token)],
    };
  }
});
