import { fileURLToPath } from "node:url";
import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import {
  ApprovalMode,
  TaskState,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_DEEP } from "../depth.ts";
import { Conversation } from "../scenarios/conversation.ts";
import { nodeServer, serverProgram } from "./servers.ts";

/** The maximum time of three calls of a second, in milliseconds. */
const MAX_MS = 1300;

const ODD = fileURLToPath(new URL("odd-server.ts", import.meta.url));

/** An MCP server that answers calls of its tool by threes. */
const MEETING = `
const calls = [];
const lines = require("node:readline").createInterface({ input: process.stdin });
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "initialize") {
    const serverInfo = { name: "meeting", version: "1" };
    const { protocolVersion } = params;
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") {
    say({ id, result: { tools: [{ name: "meet", inputSchema: { type: "object" } }] } });
  } else if (method === "tools/call") {
    calls.push(id);
    if (calls.length < 3) return;
    const result = { content: [{ type: "text", text: "Met." }] };
    for (const call of calls.splice(0)) say({ id: call, result });
  } else {
    say({ id, error: { code: -32601, message: "there is no such method" } });
  }
});
`;

const SLOW =
  'call mcp__everything__trigger-long-running-operation {"duration":1,"steps":1}';

describe("allowed calls of one step", () => {
  it.each([
    ["tools of an MCP server", SLOW],
    [
      "tools of an MCP server that answers none before it has all",
      "call mcp__meeting__meet {}",
    ],
    [
      "commands",
      'call run_shell_command {"command":"sleep 1","wait_for_previous":false}',
    ],
  ])("run side by side: %s", async (_, line) => {
    await using server = await serve();
    const seen: string[] = [];
    for await (const { event } of clientOf(server).tasks.streamMessage({
      request: {
        message: textMessage("m1", `${line}\n${line}\n${line}`),
        sessionSettings: { approvalMode: ApprovalMode.YOLO },
      },
    })) {
      if (event?.payload.case !== "toolCall") continue;
      seen.push(ToolCallStatus[event.payload.value.status]);
    }
    const lasting = seen.slice(
      seen.lastIndexOf("PENDING") + 1,
      seen.indexOf("SUCCEEDED"),
    );
    expect(lasting.slice(0, 3)).toEqual([
      "EXECUTING",
      "EXECUTING",
      "EXECUTING",
    ]);
    expect(seen.filter((status) => status === "SUCCEEDED")).toHaveLength(3);
  });

  it.skipIf(LEFT_TO_DEEP !== "")(
    `take ${MAX_MS} ms at most, for three of a second${LEFT_TO_DEEP}`,
    async () => {
      await using server = await serve();
      const client = clientOf(server);
      let leastMs = Number.POSITIVE_INFINITY;
      for (let round = 0; leastMs > MAX_MS && round < 5; round++) {
        let beganMs: number | undefined;
        let tookMs = Number.POSITIVE_INFINITY;
        for await (const { event } of client.tasks.streamMessage({
          request: {
            message: textMessage(`r${round}`, `${SLOW}\n${SLOW}\n${SLOW}`),
            sessionSettings: { approvalMode: ApprovalMode.YOLO },
          },
        })) {
          if (event?.payload.case !== "toolCall") continue;
          const { status } = event.payload.value;
          const nowMs = performance.now();
          if (status === ToolCallStatus.EXECUTING) beganMs ??= nowMs;
          if (status === ToolCallStatus.SUCCEEDED && beganMs !== undefined) {
            tookMs = nowMs - beganMs;
          }
        }
        leastMs = Math.min(leastMs, tookMs);
      }
      console.info(`three calls of a second took ${Math.round(leastMs)} ms`);
      expect(leastMs).toBeLessThanOrEqual(MAX_MS);
    },
  );
});

describe("a call that is allowed or approved", () => {
  const tool = (name: string, readOnlyHint: boolean) => ({
    ...{ name, inputSchema: { type: "object" } },
    annotations: { readOnlyHint },
  });
  const answers = {
    "tools/list": {
      result: {
        tools: [
          ...["look", "read"].map((name) => tool(name, true)),
          ...["change", "write"].map((name) => tool(name, false)),
        ],
      },
    },
    "tools/call": ["1st", "2nd", "3rd"].map((text) => ({
      result: { content: [{ type: "text", text }] },
    })),
  };

  /**
   * Plays two calls of which the first one asks, and returns them in the order
   * in which their server got them.
   */
  async function play(
    names: readonly [string, string],
    { isAllowed, until }: { isAllowed: boolean; until: "asked" | "done" },
  ): Promise<readonly (string | undefined)[]> {
    const [first, second] = names.map((name) => `mcp__odd__${name}`);
    await using server = await serveCodingAgent({
      workspace: temporaryDirectory(),
      mcp: createMcp({
        servers: [nodeServer("odd", [ODD, JSON.stringify({ answers })])],
      }),
    });
    const client = clientOf(server);
    const talk = new Conversation(client);
    if (isAllowed) {
      await talk.say(`call ${second} {}`);
      await talk.answer(() => "proceed_always_tool");
    }
    await talk.say(`call ${first} {}\ncall ${second} {}`);
    expect(talk.asked.map(({ toolName }) => toolName)).toEqual(
      isAllowed ? [first] : [first, second],
    );
    if (!isAllowed) {
      await talk.answer(({ toolName }) =>
        toolName === first ? undefined : "proceed_once",
      );
    }
    const taskId = talk.task.id;
    const statusOfSecond = async () => {
      const { task } = await client.tasks.getTask({ taskId });
      const calls = task?.history.flatMap(toolCallsOf) ?? [];
      return calls.at(-1)?.status;
    };
    if (until === "done") {
      await expect.poll(statusOfSecond).toBe(ToolCallStatus.SUCCEEDED);
    }
    expect(talk.task.state).toBe(TaskState.INPUT_REQUIRED);
    await talk.answer(() => "proceed_once");
    const { task: done } = await client.tasks.getTask({ taskId });
    const calls = done?.history.flatMap(toolCallsOf) ?? [];
    const ended = calls.slice(-2).map(({ toolName, result }) => ({
      toolName,
      at: JSON.stringify(result.value).match(/\d(?=st|nd|rd)/)?.[0],
    }));
    return ended
      .toSorted((one, other) => Number(one.at) - Number(other.at))
      .map(({ toolName }) => toolName.split("__").at(-1));
  }

  it.each([
    ["an allowed call that reads", ["look", "read"], true],
    ["an allowed call that changes something", ["look", "write"], true],
    ["an approved call that reads", ["look", "read"], false],
  ] as const)(
    "does not wait behind another's question: %s",
    async (_what, names, isAllowed) => {
      const order = await play(names, { isAllowed, until: "done" });
      expect(order).toEqual(names.toReversed());
    },
  );

  it.each([
    ["the first, and the second is allowed", ["change", "read"], true],
    ["the first, and the second is approved", ["change", "read"], false],
    ["the second, which is approved", ["look", "write"], false],
    ["both", ["change", "write"], true],
  ] as const)(
    "waits behind another's question where one of the two changes something: %s",
    async (_what, names, isAllowed) => {
      const order = await play(names, { isAllowed, until: "asked" });
      expect(order).toEqual(names);
    },
  );
});

function serve(): ReturnType<typeof serveCodingAgent> {
  return serveCodingAgent({
    workspace: temporaryDirectory(),
    approvalMode: ApprovalMode.YOLO,
    mcp: createMcp({
      servers: [
        nodeServer("everything", [serverProgram("server-everything"), "stdio"]),
        nodeServer("meeting", ["-e", MEETING]),
      ],
    }),
  });
}
