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
import { type CallUpdate, changedDetail } from "../agent/call-update.ts";
import { Code, DevtoolError } from "../errors.ts";
import type { LogEntry } from "./event-log.ts";

/**
 * Makes the entries of tool calls in their new form, each with its stage. A call that was cancelled already is not
 * cancelled again: the session does so when its user declines it, and the agent may say so as well. Throws `Code.Internal`
 * when a call would move as no call may: that is a fault of the agent, and must not enter a log.
 */
export function callEntries(task: Task, updates: readonly CallUpdate[]): LogEntry[] {
  const details = new Map<string, ToolCallDetail>();
  return updates.flatMap(({ call, detail: said }): LogEntry[] => {
    const known = details.get(call.toolCallId);
    const part = known ? undefined : findToolCallPart(task, call.toolCallId);
    const earlier = known ?? part?.toolCallDetail;
    const stage = nextStage(call, said);
    const stageBefore = earlier?.stage ?? stageIn(part);
    if (stage === ToolCallStage.CANCELLED && stageBefore === ToolCallStage.CANCELLED) return [];
    assertStageMove(call, stageBefore, stage);
    const asks = stage === ToolCallStage.AWAITING_APPROVAL;
    const selectedOptionId = asks ? "" : said?.selectedOptionId || earlier?.selectedOptionId || "";
    const detail = changedDetail(said ?? earlier, { stage, selectedOptionId });
    details.set(call.toolCallId, detail);
    return [{ payload: { case: "toolCall", value: call }, detail }];
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
