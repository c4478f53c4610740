import { isDeepStrictEqual } from "node:util";
import {
  ApprovalMode,
  confirmationsOf,
  findToolCall,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_TOOL,
  type Task,
  type ToolCall,
} from "@devtool/schema";
import type { PolicyDecision, PolicyEngine, PolicyRequest } from "./policy-engine.ts";

/**
 * The policy of a session: what changes nothing runs; in plan mode nothing else does; the rest asks, unless the user
 * allowed calls like it earlier in the task (`proceed_always`, `proceed_always_tool`). Grants are read off the task's
 * own log, so that they outlive a restart and end with the task.
 */
export function createSessionPolicy(mode: ApprovalMode): PolicyEngine {
  return {
    async decide(request) {
      if (!request.details) return decided("allow", "");
      if (mode === ApprovalMode.PLAN) return decided("deny", "the session may not change the machine");
      return decided(isGranted(request) ? "allow" : "ask", "");
    },
  };
}

function decided(decision: PolicyDecision["decision"], reason: string): PolicyDecision {
  return { decision, rule: "", reason };
}

function isGranted({ call, details, task }: PolicyRequest): boolean {
  return grantsOf(task).some(({ optionId, granted }) => {
    if (granted.toolName !== call.toolName) return false;
    if (optionId === OPTION_PROCEED_ALWAYS_TOOL) return details?.case !== "executeDetails";
    return details?.case === "fileEditDetails" || isDeepStrictEqual(commandOf(granted), commandOf(call));
  });
}

/** What a shell command does: all its arguments but the words that describe it. */
function commandOf(call: ToolCall): object {
  const { description: _words, ...rest } = call.inputParameters ?? {};
  return rest;
}

interface Grant {
  readonly optionId: string;
  readonly granted: ToolCall;
}

function grantsOf(task: Task): Grant[] {
  return task.history.flatMap(confirmationsOf).flatMap(({ toolCallId, selectedOptionId }) => {
    const granted = findToolCall(task, toolCallId);
    return granted && LASTING_OPTIONS.has(selectedOptionId) ? [{ optionId: selectedOptionId, granted }] : [];
  });
}

const LASTING_OPTIONS: ReadonlySet<string> = new Set([OPTION_PROCEED_ALWAYS, OPTION_PROCEED_ALWAYS_TOOL]);
