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
  return isSameDigest(call.shownDigest, other.shownDigest) && equals(ToolCallSchema, call, other);
}

function isSameDigest(one: Uint8Array = new Uint8Array(), other: Uint8Array = new Uint8Array()): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
