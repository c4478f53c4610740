import { equals } from "@bufbuild/protobuf";
import { type Task, ToolCallSchema } from "@devtool/schema";
import { type AskedToolCall, pendingToolCalls } from "../confirmation.ts";

/**
 * Lists the tool calls of a task that wait for an answer. A call that asks the same is the same object as before.
 */
export class TaskQuestions {
  #last: readonly AskedToolCall[] = [];

  list(task: Task): readonly AskedToolCall[] {
    const before = this.#last;
    this.#last = pendingToolCalls(task).map((call) => before.find((other) => isSame(call, other)) ?? call);
    return this.#last;
  }
}

function isSame(call: AskedToolCall, other: AskedToolCall): boolean {
  if (call.toolCallId !== other.toolCallId) return false;
  const [digest, otherDigest] = [call.shownDigest ?? [], other.shownDigest ?? []];
  if (digest.length !== otherDigest.length) return false;
  return digest.every((byte, index) => byte === otherDigest[index]) && equals(ToolCallSchema, call, other);
}
