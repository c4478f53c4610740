import { PassThrough } from "node:stream";
import { client } from "@agentclientprotocol/sdk";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import {
  TaskEventSchema,
  TaskService,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { roundsOf } from "../../../../test/depth.ts";
import { serveAcp, stdioStream } from "./serve-acp.ts";

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

const KINDS: Readonly<Record<string, (at: number) => Payload>> = {
  text: (at) => ({ case: "text", value: { text: `word ${at} ` } }),
  thoughts: (at) => ({
    case: "thought",
    value: { description: `thought ${at}` },
  }),
  citations: (at) => ({
    case: "citation",
    value: { uri: `https://example.com/${at}` },
  }),
  calls: (at) => ({
    case: "toolCall",
    value: {
      toolCallId: `call-${at}`,
      toolName: "run",
      status: ToolCallStatus.SUCCEEDED,
    },
  }),
};

const COUNT = roundsOf("DEVTOOL_FLOOD_EVENTS", {
  quick: 1_000,
  ci: 5_000,
  deep: 10_000,
});

describe("a turn with a flood of events", () => {
  it.each(Object.entries(KINDS))(
    "shows each event: %s",
    async (_kind, payloadOf) => {
      expect(await countShown(payloadOf)).toBe(COUNT);
    },
  );
});

/** Returns the number of updates that the client of a turn gets. */
async function countShown(payloadOf: (at: number) => Payload): Promise<number> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const agent = {
    name: "Flood",
    version: "1",
    inputModes: [],
    hasExtension: true,
  };
  const port = {
    client: createDevtoolClient(flooding(COUNT, payloadOf)),
    agent,
  };
  const stop = new AbortController();
  const served = serveAcp(
    { stream: stdioStream(input, output), connect: async () => port },
    stop.signal,
  );
  try {
    let shown = 0;
    const editor = client().onNotification(
      "session/update",
      () => void shown++,
    );
    const connection = editor.connect(stdioStream(output, input));
    await connection.agent.request("initialize", { protocolVersion: 1 });
    const { sessionId } = await connection.agent.request("session/new", {
      cwd: "/w",
      mcpServers: [],
    });
    await connection.agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "Go." }],
    });
    connection.close();
    return shown;
  } finally {
    stop.abort();
    await served;
  }
}

/** An agent that answers with some events of one kind. */
function flooding(count: number, payloadOf: (at: number) => Payload) {
  async function* answer() {
    const place = { taskId: "task", contextId: "context" };
    const payloads: Payload[] = Array.from({ length: count }, (_, at) =>
      payloadOf(at),
    );
    const inits = [
      { case: "created", value: {} } as const,
      ...payloads,
      { case: "stateChange", value: {} } as const,
    ];
    for (const [at, payload] of inits.entries()) {
      const state = at > count ? TaskState.COMPLETED : TaskState.WORKING;
      yield {
        event: create(TaskEventSchema, {
          ...place,
          state,
          payload,
          sequence: BigInt(at + 1),
        }),
      };
    }
  }
  return createRouterTransport(({ service }) => {
    service(TaskService, { streamMessage: answer });
  });
}
