import { create } from "@bufbuild/protobuf";
import {
  emptyTask,
  findToolCallDetail,
  findToolCallPart,
  isStageMove,
  reduceTask,
  stageOf,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import { type CallUpdate, changedDetail } from "@devtool/server/agent";

/**
 * A task that has nothing but the versions of calls that it was given, as the
 * log of a server has them.
 */
export class RecordedCalls {
  task: Task = { ...emptyTask(), id: "task" };

  /**
   * Records versions and returns their statuses. Throws for a move that a log
   * does not take.
   */
  record(updates: readonly CallUpdate[]): string[] {
    return updates.map((update) => {
      this.#append(update);
      return ToolCallStatus[update.call.status] ?? "";
    });
  }

  /** Records that the user answered a call. */
  approve(toolCallId: string): void {
    const content = findToolCallPart(this.task, toolCallId)?.content;
    if (content?.case !== "toolCall") {
      throw new Error(`${toolCallId} is not recorded`);
    }
    const { confirmationRequest: _answered, ...call } = content.value;
    this.#append({ call });
  }

  #append({ call, detail }: CallUpdate): void {
    const earlier = findToolCallDetail(this.task, call.toolCallId);
    const from = earlier?.stage ?? ToolCallStage.UNSPECIFIED;
    const isValidating =
      detail?.stage === ToolCallStage.VALIDATING &&
      stageOf(call) === ToolCallStage.SCHEDULED;
    const stage = isValidating ? ToolCallStage.VALIDATING : stageOf(call);
    if (!isStageMove(from, stage)) {
      throw new Error(
        `${ToolCallStage[from]} cannot become ${ToolCallStage[stage]}`,
      );
    }
    const event: TaskEvent = create(TaskEventSchema, {
      taskId: this.task.id,
      sequence: this.task.sequence + 1n,
      payload: { case: "toolCall", value: call },
      toolCallDetail: changedDetail(detail ?? earlier, { stage }),
    });
    this.task = reduceTask(this.task, event);
  }
}
