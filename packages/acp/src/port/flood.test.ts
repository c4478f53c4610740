import { PassThrough } from "node:stream";
import { client } from "@agentclientprotocol/sdk";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import { TaskEventSchema, TaskService, TaskState, ToolCallStatus } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { serveAcp } from "./serve-acp.ts";
import { stdioStream } from "./stdio-stream.ts";

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

const KINDS: Readonly<Record<string, (at: number) => Payload>> = {
  text: (at) => ({ case: "text", value: { text: `word ${at} ` } }),
  thoughts: (at) => ({ case: "thought", value: { description: `thought ${at}` } }),
  citations: (at) => ({ case: "citation", value: { uri: `https://example.com/${at}` } }),
  calls: (at) => ({
    case: "toolCall",
    value: { toolCallId: `call-${at}`, toolName: "run", status: ToolCallStatus.SUCCEEDED },
  }),
};

const FEW = 1000;
const MANY = 10_000;

describe("a turn with a flood of events", () => {
  it.each(Object.entries(KINDS))(
    "shows each, and an event late in it costs no more than one before: %s",
    { timeout: 300_000 },
    async (_kind, payloadOf) => {
      // The first turn warms the code up.
      await costOf(FEW, payloadOf);
      const few = await costOf(FEW, payloadOf);
      const many = await costOf(MANY, payloadOf);
      expect(many / MANY / (few / FEW)).toBeLessThan(1.7);
    },
  );
});

/** Returns the processor time of this thread in microseconds that a turn of some events takes. */
async function costOf(count: number, payloadOf: (at: number) => Payload): Promise<number> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const agent = { name: "Flood", version: "1", inputModes: [], hasExtension: true };
  const port = { client: createDevtoolClient(flooding(count, payloadOf)), agent };
  void serveAcp({ stream: stdioStream(input, output), connect: async () => port }, new AbortController().signal);
  let shown = 0;
  const editor = client().onNotification("session/update", () => void shown++);
  const connection = editor.connect(stdioStream(output, input));
  await connection.agent.request("initialize", { protocolVersion: 1 });
  const { sessionId } = await connection.agent.request("session/new", { cwd: "/w", mcpServers: [] });
  const before = process.threadCpuUsage();
  await connection.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "Go." }] });
  const { user, system } = process.threadCpuUsage(before);
  connection.close();
  expect(shown).toBe(count);
  return user + system;
}

/** An agent that answers with some events of one kind. */
function flooding(count: number, payloadOf: (at: number) => Payload) {
  async function* answer() {
    const place = { taskId: "task", contextId: "context" };
    const payloads: Payload[] = Array.from({ length: count }, (_, at) => payloadOf(at));
    const inits = [{ case: "created", value: {} } as const, ...payloads, { case: "stateChange", value: {} } as const];
    for (const [at, payload] of inits.entries()) {
      const state = at > count ? TaskState.COMPLETED : TaskState.WORKING;
      yield { event: create(TaskEventSchema, { ...place, state, payload, sequence: BigInt(at + 1) }) };
    }
  }
  return createRouterTransport(({ service }) => {
    service(TaskService, { streamMessage: answer });
  });
}
