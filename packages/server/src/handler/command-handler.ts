import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CommandExecutionStatus,
  type ConfirmationRequest,
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  isAwaitingApproval,
  isInterrupted,
  openToolCalls,
  type SlashCommandService,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import type { SlashCommands } from "../command/slash-commands.ts";
import { invalid } from "../errors.ts";
import { principalOf } from "./caller.ts";
import type { Exchange, Exchanges } from "./exchange.ts";

/** What a client may do with slash commands (CMD-1, CMD-2). */
export function createCommandHandler(
  exchanges: Exchanges,
  findCommands: () => Promise<SlashCommands>,
): ServiceImpl<typeof SlashCommandService> {
  return {
    async getAllSlashCommands({ contextId, settings }, context) {
      const principal = principalOf(context);
      const isNamed = contextId !== "" || settings !== undefined;
      const where = { contextId, settings: { ...(settings && { settings }) } };
      const found = isNamed ? await exchanges.settingsFor(where, principal) : undefined;
      const workspacePath = found?.settings?.workspacePath ?? exchanges.defaultWorkspace;
      const commands = await findCommands();
      return { commands: [...(await commands.list({ workspacePath, principal }, context.signal))] };
    },
    async runSlashCommand({ command, contextId, settings: requested }, context) {
      if (!command || command.commandPath.length === 0) throw invalid("command_path", "", "is empty: name a command");
      const principal = principalOf(context);
      const where = { contextId, settings: { ...(requested && { settings: requested }) } };
      const { settings } = await exchanges.settingsFor(where, principal);
      const place = { contextId, principal, workspacePath: settings?.workspacePath ?? "" };
      const commands = await findCommands();
      const refusal = await commands.check(command, place, context.signal);
      if (refusal !== undefined) return { result: failedToStart(refusal) };
      const exchange = await exchanges.beginCommand({ command }, where, principal);
      return { result: await started(exchange, context.signal) };
    },
  };
}

function failedToStart(message: string): ExecuteSlashCommandResponse {
  return create(ExecuteSlashCommandResponseSchema, { status: CommandExecutionStatus.FAILED_TO_START, message });
}

/** Waits until the command does something, or asks before it does. */
async function started({ session, after }: Exchange, signal: AbortSignal): Promise<ExecuteSlashCommandResponse> {
  for await (const event of session.log.read(after, signal)) {
    if (isInterrupted(event.state)) break;
    if (hasBegun(event)) break;
  }
  const asked = openToolCalls(session.task).find(isAwaitingApproval)?.confirmationRequest;
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
