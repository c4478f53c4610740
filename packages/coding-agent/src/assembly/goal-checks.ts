import { callerOfTask } from "@devtool/internal/task-caller";
import { findToolCall, openToolCalls, ToolCallStatus } from "@devtool/schema";
import type { AgentEvent, GoalChecks, Turn } from "@devtool/server/agent";
import { newToolCall } from "../tool/run-tools.ts";
import {
  runNewCalls,
  runOpenCalls,
  type SchedulerContext,
} from "../tool/scheduler.ts";
import type { AgentHost } from "./host.ts";
import { createTaskPolicy, createToolbox } from "./task-agent.ts";

/**
 * Creates what runs the checks of goals as commands of the shell tool, by the
 * rules for the task's principal and in the sandbox, whichever agent works on
 * the task.
 */
export function goalChecks(host: AgentHost): GoalChecks {
  return { run: (...run) => runChecks(host, ...run) };
}

async function* runChecks(
  host: AgentHost,
  turn: Turn,
  checks: Parameters<GoalChecks["run"]>[1],
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  const { principal, settings } = turn.task;
  const { services } = host.dependencies;
  const place = {
    workspace: settings?.workspacePath ?? "",
    get mode() {
      return host.approvalModeOf(turn.task);
    },
    get caller() {
      return callerOfTask(turn.task);
    },
  };
  await using toolbox = createToolbox(host, turn.task, place);
  await using toolSet = await toolbox.open(turn.task, [], signal);
  const context: SchedulerContext = {
    tools: toolSet.tools,
    policy: createTaskPolicy(host, principal, place),
    nextId: services.nextId,
    onNotice: services.onNotice,
    settle: (edit) => toolSet.settle(edit),
    confirmations: turn.confirmations,
    traceContext: (callId) => turn.traceContext(callId),
    get task() {
      return turn.task;
    },
  };
  const ids = new Set(checks.map(({ id }) => id));
  const open = openToolCalls(turn.task).filter(({ toolCallId }) =>
    ids.has(toolCallId),
  );
  for await (const value of runOpenCalls(open, context, signal)) {
    yield { case: "toolCalls", value };
  }
  for (const { id, command } of checks) {
    if (!findToolCall(turn.task, id)) {
      const wanted = { name: "run_shell_command", args: { command } };
      const call = newToolCall(id, wanted);
      for await (const value of runNewCalls([call], context, signal)) {
        yield { case: "toolCalls", value };
      }
    }
    const { SUCCEEDED } = ToolCallStatus;
    if (findToolCall(turn.task, id)?.status !== SUCCEEDED) return;
  }
}
