import {
  findToolCallPart,
  isStageMove,
  stageOf,
  type Task,
  type ToolCallDetail,
  ToolCallStage,
  visibleCall,
} from "@devtool/schema";
import { type CallUpdate, changedDetail } from "../agent/call-update.ts";
import { Code, DevtoolError } from "../errors.ts";
import type { LogEntry } from "./event-log.ts";

/**
 * Creates the log entries of new versions of tool calls, each with its stage.
 *
 * The texts of a call come from a model, an agent or an MCP server: they are
 * recorded without characters that could deceive the user.
 *
 * A second cancellation of a call is dropped: `OpenTask` cancels a call that
 * its user declines, and the agent may report the same. Throws `Code.Internal`
 * for a move between stages that no call may make, which is a fault of the
 * agent and must not enter a log.
 */
export function callEntries(
  task: Task,
  updates: readonly CallUpdate[],
): LogEntry[] {
  const details = new Map<string, ToolCallDetail>();
  return updates.flatMap(({ call, detail: reported }): LogEntry[] => {
    const { toolCallId } = call;
    const known = details.get(toolCallId);
    const part = known ? undefined : findToolCallPart(task, toolCallId);
    const earlier = known ?? part?.toolCallDetail;
    const recorded =
      part?.content.case === "toolCall"
        ? stageOf(part.content.value)
        : ToolCallStage.UNSPECIFIED;
    const from = earlier?.stage ?? recorded;
    // The status of a call cannot tell whether a scheduled call is still being
    // validated.
    const stage = stageOf(call);
    const isValidating =
      stage === ToolCallStage.SCHEDULED &&
      reported?.stage === ToolCallStage.VALIDATING;
    const to = isValidating ? ToolCallStage.VALIDATING : stage;
    if (to === ToolCallStage.CANCELLED && from === ToolCallStage.CANCELLED) {
      return [];
    }
    if (!isStageMove(from, to)) {
      const move = `${ToolCallStage[from]} to ${ToolCallStage[to]}`;
      throw new DevtoolError(
        `tool call ${JSON.stringify(toolCallId)} cannot move from ${move}`,
        Code.Internal,
      );
    }
    const asks = to === ToolCallStage.AWAITING_APPROVAL;
    const selectedOptionId = asks
      ? ""
      : reported?.selectedOptionId || earlier?.selectedOptionId || "";
    const answerer = asks
      ? undefined
      : (reported?.answerer ?? earlier?.answerer);
    const argumentsEditable = asks && reported?.argumentsEditable === true;
    const detail = changedDetail(reported ?? earlier, {
      stage: to,
      selectedOptionId,
      answerer,
      argumentsEditable,
    });
    details.set(toolCallId, detail);
    return [
      { payload: { case: "toolCall", value: visibleCall(call) }, detail },
    ];
  });
}
