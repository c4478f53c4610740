import {
  findToolCallPart,
  isStageMove,
  type Part,
  stageOf,
  type Task,
  type ToolCall,
  type ToolCallDetail,
  ToolCallStage,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { type CallUpdate, changedDetail } from "../tool/call-update.ts";
import type { LogEntry } from "./event-log.ts";

/**
 * Makes the entries of tool calls in their new form, each with its stage. Throws `Code.Internal` when a call would move
 * as no call may: that is a fault of ours, and must not enter a log.
 */
export function callEntries(task: Task, updates: readonly CallUpdate[]): LogEntry[] {
  const details = new Map<string, ToolCallDetail>();
  return updates.map(({ call, detail: said }) => {
    const known = details.get(call.toolCallId);
    const part = known ? undefined : findToolCallPart(task, call.toolCallId);
    const earlier = known ?? part?.toolCallDetail;
    const stage = nextStage(call, said);
    assertStageMove(call, earlier?.stage ?? stageIn(part), stage);
    const detail = changedDetail(said ?? earlier, { stage });
    details.set(call.toolCallId, detail);
    return { payload: { case: "toolCall", value: call }, detail };
  });
}

/** The stage of a call that the scheduler said nothing about yet. */
function stageIn(part: Part | undefined): ToolCallStage {
  return part?.content.case === "toolCall" ? stageOf(part.content.value) : ToolCallStage.UNSPECIFIED;
}

/** A call that asks nothing and was not decided yet is being checked; the scheduler says so. */
function nextStage(call: ToolCall, said: ToolCallDetail | undefined): ToolCallStage {
  const stage = stageOf(call);
  const checked = stage === ToolCallStage.SCHEDULED && said?.stage === ToolCallStage.VALIDATING;
  return checked ? ToolCallStage.VALIDATING : stage;
}

function assertStageMove({ toolCallId }: ToolCall, from: ToolCallStage, to: ToolCallStage): void {
  if (isStageMove(from, to)) return;
  const move = `${ToolCallStage[from]} to ${ToolCallStage[to]}`;
  throw new DevtoolError(`tool call ${JSON.stringify(toolCallId)} cannot move from ${move}`, Code.Internal);
}
