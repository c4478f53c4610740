import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Role, type TaskEvent, TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const QUICK = { baseDelayMs: 1, maxAttempts: 50 };

describe("A2A 1.0 over gRPC, whose streams are cut", () => {
  let workspace: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
  });
  afterAll(() => server.close());

  it.each([1, 2, 3, 5])(
    "are read on where they ended, also by a client that only answers: cut after %s",
    async (cut) => {
      const whole = await exchangesOf(overJsonRpc(), overJsonRpc());
      expect(await exchangesOf(overGrpc(), overGrpc(cut))).toEqual(whole);
    },
  );

  /**
   * Asks by one client, answers by another, and returns what each has read, and
   * the whole log as the first one reads it.
   */
  async function exchangesOf(
    asker: DevtoolClient,
    answerer: DevtoolClient,
  ): Promise<string[][]> {
    const message = textMessage(
      crypto.randomUUID(),
      "say 3\nwrite a.txt one\nsay 5\nsay 5",
    );
    const asked = await Array.fromAsync(
      streamMessage(asker, { message }, soon()),
    );
    const taskId = asked[0]?.taskId ?? "";
    const { task } = await asker.tasks.getTask({ taskId });
    const [call = expect.unreachable()] = pendingToolCalls(
      task ?? expect.unreachable(),
    );
    const parts = [confirmationPart(call, "proceed_once")];
    const answer = { messageId: crypto.randomUUID(), role: Role.USER, parts };
    const rest = await Array.fromAsync(
      streamMessage(answerer, { taskId, message: answer }, soon(), QUICK),
    );
    expect(rest.at(-1)?.state).toBe(TaskState.COMPLETED);
    const whole = await Array.fromAsync(
      subscribeTask(asker, { taskId }, soon()),
    );
    return [asked, rest, whole].map((events) => events.map(textOf));
  }

  /** A client whose first three streams break after a number of elements. */
  function overGrpc(cut = Number.POSITIVE_INFINITY): DevtoolClient {
    const { url, token } = server;
    const grpc = (baseUrl: string) =>
      cutting(createGrpcTransport({ baseUrl }), cut);
    const options = {
      url,
      token,
      grpc,
      protocolVersion: "1.0",
      protocolBinding: "GRPC",
    };
    return createDevtoolClient(createA2aTransport(options));
  }

  function overJsonRpc(): DevtoolClient {
    const { url, token } = server;
    return createDevtoolClient(
      createA2aTransport({
        url,
        token,
        protocolVersion: "1.0",
        protocolBinding: "JSONRPC",
      }),
    );
  }
});

function cutting(transport: Transport, cut: number): Transport {
  let streams = 0;
  return {
    unary: (...call) => transport.unary(...call),
    async stream(...call) {
      streams++;
      const response = await transport.stream(...call);
      const message = (async function* () {
        let left = streams <= 3 ? cut : Number.POSITIVE_INFINITY;
        for await (const element of response.message) {
          if (left-- <= 0) throw new ConnectError("cut", Code.Unavailable);
          yield element;
        }
      })();
      return { ...response, message };
    },
  };
}

function textOf({ sequence, payload }: TaskEvent): string {
  return `${sequence} ${payload.case} ${payload.case === "text" ? payload.value.text : ""}`;
}

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}
