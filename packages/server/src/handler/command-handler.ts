import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  awaitedToolCalls,
  CommandExecutionStatus,
  type ConfirmationRequest,
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  isAwaitingApproval,
  isInterrupted,
  type SlashCommandService,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import type { AgentCommands } from "../agent/agent.ts";
import { invalid } from "../errors.ts";
import type { TaskSession } from "../task/task-session.ts";
import { addressed, agentOf } from "./addressed-agent.ts";
import { principalOf } from "./caller.ts";
import type { Exchanges } from "./exchange.ts";
import type { Settings } from "./session-settings.ts";

/** What a client may do with slash commands (CMD-1, CMD-2). */
export function createCommandHandler(
  exchanges: Exchanges,
  commandsOf: (agent: string) => AgentCommands,
): ServiceImpl<typeof SlashCommandService> {
  return {
    async getAllSlashCommands({ contextId, settings }, context) {
      const principal = principalOf(context);
      const isNamed = contextId !== "" || settings !== undefined;
      const where = { contextId, settings: addressed<Settings>({ ...(settings && { settings }) }, context) };
      const found = isNamed ? await exchanges.settingsFor(where, principal) : undefined;
      const workspacePath = found?.settings?.workspacePath ?? exchanges.defaultWorkspace;
      const agent = found?.sessionSettings?.agent ?? agentOf(context);
      return { commands: [...(await commandsOf(agent).list({ workspacePath, principal }, context.signal))] };
    },
    async runSlashCommand({ command, contextId, settings: requested, sessionSettings, activateExtension }, context) {
      if (!command || command.commandPath.length === 0) throw invalid("command_path", "", "is empty", "name a command");
      const principal = principalOf(context);
      const asked = { ...(requested && { settings: requested }), ...(sessionSettings && { sessionSettings }) };
      const where = { contextId, settings: addressed<Settings>(asked, context), activateExtension };
      const { settings, sessionSettings: settled } = await exchanges.settingsFor(where, principal);
      const place = { contextId, principal, workspacePath: settings?.workspacePath ?? "" };
      const refusal = await commandsOf(settled?.agent ?? "").check(command, place, context.signal);
      if (refusal !== undefined) return { result: failedToStart(refusal) };
      const { held, after } = await exchanges.beginCommand({ command }, where, principal);
      using executed = held;
      return { result: await started(executed.session, after, context.signal) };
    },
  };
}

function failedToStart(message: string): ExecuteSlashCommandResponse {
  return create(ExecuteSlashCommandResponseSchema, { status: CommandExecutionStatus.FAILED_TO_START, message });
}

/** Waits until the command does something, or asks before it does. */
async function started(session: TaskSession, after: bigint, signal: AbortSignal): Promise<ExecuteSlashCommandResponse> {
  for await (const event of session.log.read(after, signal)) {
    if (isInterrupted(event.state)) break;
    if (hasBegun(event)) break;
  }
  const asked = awaitedToolCalls(session.task)[0]?.confirmationRequest;
  return create(ExecuteSlashCommandResponseSchema, {
    executionId: session.task.id,
    status: asked ? awaitingStatus(asked) : CommandExecutionStatus.STARTED,
    message: asked ? "The command waits for your approval." : "",
  });
}

function hasBegun({ payload, state }: TaskEvent): boolean {
  if (payload.case === "toolCall") return !isAwaitingApproval(payload.value);
  return payload.case === "text" || payload.case === "thought" || state > TaskState.WORKING;
}

function awaitingStatus({ details }: ConfirmationRequest): CommandExecutionStatus {
  return details.case === "executeDetails"
    ? CommandExecutionStatus.AWAITING_SHELL_CONFIRMATION
    : CommandExecutionStatus.AWAITING_ACTION_CONFIRMATION;
}
