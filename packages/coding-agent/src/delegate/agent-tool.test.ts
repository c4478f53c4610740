import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  emptyTask,
  MessageSchema,
  Role,
  type Task,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { createAgentTool } from "./agent-tool.ts";
import type { CalledAgent } from "./called-agent.ts";

describe("the tool that gives work to an agent", () => {
  it("drops a kept cancellation of the task that it goes on with", async () => {
    const done: string[] = [];
    const agent: CalledAgent = {
      ...{ name: "far", description: "", place: "elsewhere", chainId: "far" },
      definitionHash: "",
      untold: {
        keep: async () => false,
        drop: async (...dropped) => void done.push(`drop ${dropped}`),
      },
      connect: async () => {
        done.push("connect");
        throw new ConnectError("nobody is there", Code.NotFound);
      },
      settingsFor: () => ({}),
    };
    const task = withEarlierCall();
    const tool = createAgentTool(agent, {
      chain: [],
      current: () => ({ task, earlier: [] }),
      maxCalls: 16,
      maxOutputLength: 1000,
    });
    const signal = new AbortController().signal;
    for (const more of [{}, { task_id: "child" }]) {
      const { execute } = await tool.prepare(
        { message: "go on", ...more },
        signal,
      );
      const place = { task, toolCallId: "next", isResumed: false };
      for await (const event of execute(signal, undefined, place)) void event;
    }
    expect(done).toEqual(["connect", "drop far,child", "connect"]);
  });
});

/** A task that has called an agent before, whose task is `child`. */
function withEarlierCall(): Task {
  const status = ToolCallStatus.CANCELLED;
  const message = create(MessageSchema, {
    role: Role.AGENT,
    parts: [
      {
        content: { case: "toolCall", value: { toolCallId: "call", status } },
        toolCallDetail: { delegation: { agent: "far", taskId: "child" } },
      },
    ],
  });
  return { ...emptyTask(), id: "parent", history: [message] };
}
