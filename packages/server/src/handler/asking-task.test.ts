import { create } from "@bufbuild/protobuf";
import {
  TaskCreatedSchema,
  TaskState,
  ToolCallConfirmationSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { AgentEvent, AgentExecutor } from "../agent/agent-executor.ts";
import { OpenTasks } from "../fleet/open-tasks.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { findAsking } from "./asking-task.ts";

const { signal } = new AbortController();

describe("an answer without a task id (TOOL-5)", () => {
  it("finds the one session of its task, even when more tasks ask than stay open", async () => {
    const store = new MemoryTaskStore();
    await using registry = new OpenTasks({
      store,
      createExecutor: asking,
      now: () => new Date(),
    });
    for (let index = 0; index < 300; index++) {
      await askIn(registry, `t${index}`);
    }
    const answer = create(ToolCallConfirmationSchema, {
      toolCallId: "call-of-t299",
    });
    using found = await findAsking({ registry, store }, [answer], {
      contextId: "",
      principal: "p",
    });
    expect(found.handle.task.id).toBe("t299");
    using again = await registry.get("t299");
    expect(again?.handle).toBe(found.handle);
  });
});

async function askIn(registry: OpenTasks, taskId: string): Promise<void> {
  const created = create(TaskCreatedSchema, {
    principal: "p",
    message: { messageId: taskId },
  });
  using held = await registry.create(
    taskId,
    {
      contextId: `context-of-${taskId}`,
      extensionActive: true,
      agentSessionId: "",
    },
    created,
  );
  let asked = 0;
  for await (const events of held.handle.read(0n, signal)) {
    // The state change when the call asks, and the one at the end of the turn.
    asked += events.filter(
      ({ state }) => state === TaskState.INPUT_REQUIRED,
    ).length;
    if (asked >= 2) return;
  }
}

/** An agent that asks the user about a call and ends its turn. */
function asking({
  history,
}: {
  readonly history: readonly { readonly messageId: string }[];
}): AgentExecutor {
  return {
    modelFor: () => "",
    async *execute(): AsyncIterable<AgentEvent> {
      const call = create(ToolCallSchema, {
        toolCallId: `call-of-${history[0]?.messageId}`,
        status: ToolCallStatus.PENDING,
        confirmationRequest: { options: [{ id: "proceed_once", name: "Yes" }] },
      });
      yield { case: "toolCalls", value: [{ call }] };
      yield {
        case: "end",
        value: { state: TaskState.INPUT_REQUIRED, text: "" },
      };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
