import { readFile } from "node:fs/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { REQUIREMENTS } from "@devtool/conformance";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import {
  EXTENSION_URI,
  emptyTask,
  isStageMove,
  McpServerSchema,
  reduceTask,
  SESSION_SETTINGS_URI,
  type SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskState,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import { decodeStreamFrame } from "@devtool/schema/a2a-v03";
import { TASK_EVENT_URI } from "@devtool/schema/testing";
import type { DevtoolServer } from "@devtool/server";
import { beforeAll, describe, expect, it } from "vitest";
import { serverProgram } from "../mcp/servers.ts";

describe("docs/wire.md", () => {
  let text: string;
  beforeAll(async () => {
    text = await readFile(
      new URL("../../docs/wire.md", import.meta.url),
      "utf8",
    );
  });

  it("has the requirements of the conformance kit, in their order", () => {
    const ids = [...text.matchAll(/^### ([A-Z]+-\d+)$/gm)].map(([, id]) => id);
    const known = (group: string): string[] =>
      Object.keys(REQUIREMENTS).filter((id) => id.startsWith(`${group}-`));
    const listed = [
      ...new Set(ids.map((id) => id?.split("-")[0] ?? "")),
    ].flatMap(known);
    expect(ids.filter((id, index) => ids.indexOf(id) === index)).toEqual(
      listed,
    );
    // The others are A2A's own.
    expect(listed.length).toBe(
      Object.keys(REQUIREMENTS).filter((id) => !id.startsWith("A2A")).length,
    );
  });

  it("names the URIs that are used", () => {
    for (const uri of [EXTENSION_URI, SESSION_SETTINGS_URI, TASK_EVENT_URI]) {
      expect(text).toContain(`\`${uri}\``);
    }
  });

  it("lists every type of failure (TOOL-8)", async () => {
    const code = await readFile(
      new URL("../../packages/server/src/agent/failure.ts", import.meta.url),
      "utf8",
    );
    const types = [...code.matchAll(/^ {2}\| "(\w+)"/gm)].map(
      ([, type]) => type,
    );
    expect(types.length).toBeGreaterThan(5);
    const [, listed = ""] = /^### TOOL-8$([\s\S]*?)^###/m.exec(text) ?? [];
    expect(
      [...listed.matchAll(/`(\w+)`/g)]
        .map(([, type]) => type)
        .filter((type) => type !== "type"),
    ).toEqual(expect.arrayContaining(types));
  });

  it("shows an event that a client reads (META-2)", () => {
    const [, json = ""] = /```json\n([\s\S]*?)```/.exec(text) ?? [];
    const { payload, model } = decodeStreamFrame(JSON.parse(json), 7n);
    expect(payload).toMatchObject({
      case: "usage",
      value: { inputTokens: 1200n, outputTokens: 85n },
    });
    expect(model).toBe("gemini-pro-latest");
  });
});

describe("what the RFC has no field for, over A2A 0.3", () => {
  it("is keyed by a URI of its own, and has a text too where a person should see it (META-2)", async () => {
    const [cited] = (await frames("cite https://example.com/source")).filter(
      hasOwn,
    );
    expect(cited).toMatchObject({
      status: {
        message: {
          parts: [
            {
              kind: "text",
              text: expect.stringContaining("https://example.com/source"),
            },
          ],
        },
      },
      metadata: {
        [EXTENSION_URI]: { kind: "TEXT_CONTENT" },
        [TASK_EVENT_URI]: { citation: { uri: "https://example.com/source" } },
      },
    });
    const [tried] = (await frames("fail 503 1")).filter(hasOwn);
    expect(tried).toMatchObject({
      status: {
        state: "working",
        message: { parts: [{ kind: "text", text: expect.any(String) }] },
      },
      metadata: {
        [EXTENSION_URI]: { kind: "DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED" },
        [TASK_EVENT_URI]: { notice: { attempt: 1 } },
      },
    });
  });

  it("tells the stages of a call, and the digest of what was shown (TOOL-9)", async () => {
    await using ground = await serve({});
    const events = await ground.play("write a.txt one", () => "proceed_once");
    const details = events.flatMap(({ toolCallDetail }) =>
      toolCallDetail ? [toolCallDetail] : [],
    );
    const { AWAITING_APPROVAL, SCHEDULED, EXECUTING, SUCCEEDED } =
      ToolCallStage;
    const shown = details.map(({ stage }) => stage);
    expect(shown).toEqual([AWAITING_APPROVAL, EXECUTING, SUCCEEDED]);
    const stages = shown.toSpliced(1, 0, SCHEDULED);
    expect(
      stages
        .slice(1)
        .every((stage, index) => isStageMove(stages[index] ?? stage, stage)),
    ).toBe(true);
    expect(
      new Set(details.map(({ digest }) => Buffer.from(digest).toString("hex")))
        .size,
    ).toBe(1);
    expect(details[0]?.digest).toHaveLength(32);
  });

  it("puts what a running call asks as a call of its own (TOOL-10)", async () => {
    const stdio = {
      command: process.execPath,
      args: [serverProgram("server-everything")],
    };
    const mcpServers = [
      create(McpServerSchema, {
        name: "every",
        transport: { case: "stdio", value: stdio },
      }),
    ];
    await using ground = await serve({
      mcp: createMcp({ servers: mcpServers }),
    });
    const tool = "mcp__every__trigger-elicitation-request";
    const events = await ground.play(`call ${tool} {}`, (task) => {
      const asked =
        pendingToolCalls(task)[0]?.confirmationRequest?.details.case;
      return asked === "genericDetails" ? "cancel" : "proceed_once";
    });
    const questions = events.filter(
      ({ toolCallDetail }) => toolCallDetail?.parentToolCallId,
    );
    const [first] = questions;
    const parentId = first?.toolCallDetail?.parentToolCallId;
    expect(first?.payload).toMatchObject({
      case: "toolCall",
      value: {
        toolName: tool,
        status: ToolCallStatus.PENDING,
        confirmationRequest: { options: expect.anything() },
      },
    });
    const before = events.filter(
      ({ sequence }) => first && sequence < first.sequence,
    );
    const parent = before.findLast(
      ({ payload }) =>
        payload.case === "toolCall" && payload.value.toolCallId === parentId,
    );
    expect(parent?.payload).toMatchObject({
      value: { status: ToolCallStatus.EXECUTING },
    });
    expect(questions.at(-1)?.payload).toMatchObject({
      value: { status: ToolCallStatus.CANCELLED },
    });
    expect(events.at(-1)?.state).toBe(TaskState.COMPLETED);
  });
});

interface Ground extends AsyncDisposable {
  readonly server: DevtoolServer;
  /**
   * Plays a script over A2A 0.3 to its end, each question answered with an
   * option, and gives all events.
   */
  play(script: string, choose: (task: Task) => string): Promise<TaskEvent[]>;
}

async function serve(options: CodingServerOptions): Promise<Ground> {
  const workspace = temporaryDirectory();
  const server = await serveCodingAgent({ workspace, ...options });
  const client = createDevtoolClient(createA2aTransport(server));
  const signal = AbortSignal.timeout(300_000);
  return {
    server,
    async play(script, choose) {
      let task = emptyTask();
      const events: TaskEvent[] = [];
      let request: MessageInitShape<typeof SendMessageRequestSchema> = {
        message: textMessage(crypto.randomUUID(), script),
      };
      for (;;) {
        for await (const event of streamMessage(client, request, signal)) {
          task = reduceTask(task, event);
          events.push(event);
        }
        const parts = pendingToolCalls(task).map((call) =>
          confirmationPart(call, choose(task)),
        );
        if (parts.length === 0) return events;
        request = {
          taskId: task.id,
          message: { messageId: crypto.randomUUID(), parts },
        };
      }
    },
    async [Symbol.asyncDispose]() {
      await server.close();
    },
  };
}

interface Frame {
  readonly status: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const hasOwn = ({ metadata }: Frame): boolean =>
  metadata?.[TASK_EVENT_URI] !== undefined;

/** The frames of a script's stream, as they are on the wire. */
async function frames(script: string): Promise<Frame[]> {
  await using ground = await serve({});
  const { url, token } = ground.server;
  const parts = [{ kind: "text", text: script }];
  const message = {
    kind: "message",
    role: "user",
    messageId: "m",
    parts,
    metadata: { [EXTENSION_URI]: {} },
  };
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "message/stream",
    params: { message },
  });
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
  };
  const response = await fetch(url, { method: "POST", headers, body });
  return [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(
    ([, data = ""]) => JSON.parse(data).result,
  );
}
