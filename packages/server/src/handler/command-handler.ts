import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  awaitedToolCalls,
  CommandExecutionStatus,
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  isAtRest,
  isAwaitingApproval,
  type RunSlashCommandRequest,
  type SlashCommandService,
  type TaskEvent,
} from "@devtool/schema";
import type { AgentCommands } from "../agent/agent.ts";
import { invalid, quoted } from "../errors.ts";
import type { TaskHandle } from "../task/task-handle.ts";
import { addressedAgent, withAddressedAgent } from "./addressed-agent.ts";
import { assertMayUse, sendingCaller } from "./caller.ts";
import type { Exchanges } from "./exchange.ts";
import { traceContextOf } from "./observed-call.ts";
import type { Settings } from "./session-settings.ts";

/**
 * Creates the handler of `SlashCommandService` (CMD-1, CMD-2).
 *
 * @param commandsOf returns the commands of an agent; an empty name stands for
 * the default agent
 */
export function createCommandHandler(
  exchanges: Exchanges,
  commandsOf: (agent: string) => AgentCommands,
): ServiceImpl<typeof SlashCommandService> {
  return {
    async getAllSlashCommands(request, context) {
      const { agent, place } = await listingPlace(exchanges, request, context);
      const commands = await commandsOf(agent).list(place, context.signal);
      return { commands: [...commands] };
    },
    async runSlashCommand({ command, ...request }, context) {
      if (!command || command.commandPath.length === 0) {
        throw invalid("command_path", "", "is empty", "name a command");
      }
      const { contextId, activateExtension } = request;
      const caller = sendingCaller(context);
      const { principal, sender } = caller;
      const settings = requestedSettings(request, context);
      const origin = { contextId, settings, activateExtension };
      const session = await exchanges.settingsFor(origin, caller);
      const place = {
        contextId,
        principal,
        roles: sender?.roles,
        workspacePath: session.settings?.workspacePath ?? "",
        sessionSettings: session.sessionSettings,
      };
      const commands = commandsOf(session.sessionSettings?.agent ?? "");
      const refusal =
        joinedWords(command.commandPath) ??
        (await commands.check(command, place, context.signal));
      if (refusal !== undefined) return { result: notStarted(refusal) };
      const exchange = await exchanges.beginCommand(
        command,
        origin,
        caller,
        traceContextOf(context),
      );
      using held = exchange.held;
      return {
        result: await firstResult(held.handle, exchange.after, context.signal),
      };
    },
  };
}

/** What a request says of the conversation in which a command would run. */
type Requested = Pick<
  RunSlashCommandRequest,
  "contextId" | "settings" | "sessionSettings"
>;

function requestedSettings(
  { settings, sessionSettings }: Requested,
  context: HandlerContext,
): Settings {
  return withAddressedAgent<Settings>({ settings, sessionSettings }, context);
}

/**
 * Returns whose commands to list, and for which place: those of a conversation
 * or of settings that the request names, or else of the default workspace.
 */
async function listingPlace(
  exchanges: Exchanges,
  request: Requested,
  context: HandlerContext,
) {
  const { contextId, settings, sessionSettings } = request;
  const caller = sendingCaller(context);
  const { principal, sender } = caller;
  const isNamed =
    contextId !== "" || settings !== undefined || sessionSettings !== undefined;
  const asked = requestedSettings(request, context);
  const found = isNamed
    ? await exchanges.settingsFor({ contextId, settings: asked }, caller)
    : undefined;
  const agent = found?.sessionSettings?.agent ?? addressedAgent(context);
  assertMayUse(agent || exchanges.defaultAgent, caller);
  return {
    agent,
    place: {
      workspacePath:
        found?.settings?.workspacePath ?? exchanges.defaultWorkspace,
      principal,
      roles: sender?.roles,
      sessionSettings: found?.sessionSettings,
    },
  };
}

function notStarted(message: string): ExecuteSlashCommandResponse {
  const status = CommandExecutionStatus.FAILED_TO_START;
  return create(ExecuteSlashCommandResponseSchema, { status, message });
}

/**
 * Returns why a path cannot be a command's: an element of it has several words.
 * Undefined for other paths.
 */
function joinedWords(path: readonly string[]): string | undefined {
  const joined = path.find((word) => /\s/.test(word));
  if (joined === undefined) return undefined;
  const words = joined.split(/\s+/).filter((word) => word !== "");
  return `command ${quoted(joined)} is not one word: send each word of command_path as an element, such as ${JSON.stringify(words)}`;
}

/**
 * Whether a command acts, rests or asks with an event. It acts when it makes a
 * call that needs no approval, or has output.
 */
function isResult({ payload, state }: TaskEvent): boolean {
  const isActing =
    payload.case === "toolCall"
      ? !isAwaitingApproval(payload.value)
      : payload.case === "text" || payload.case === "thought";
  return isAtRest(state) || isActing;
}

/**
 * Waits until a command has started to act or asks for an approval, and returns
 * which of them it was.
 */
async function firstResult(
  task: TaskHandle,
  after: bigint,
  signal: AbortSignal,
): Promise<ExecuteSlashCommandResponse> {
  for await (const events of task.read(after, signal)) {
    if (events.some(isResult)) break;
  }
  const request = awaitedToolCalls(task.task)[0]?.confirmationRequest;
  if (!request) {
    const status = CommandExecutionStatus.STARTED;
    return create(ExecuteSlashCommandResponseSchema, {
      executionId: task.task.id,
      status,
    });
  }
  const isShell = request.details.case === "executeDetails";
  return create(ExecuteSlashCommandResponseSchema, {
    executionId: task.task.id,
    status: isShell
      ? CommandExecutionStatus.AWAITING_SHELL_CONFIRMATION
      : CommandExecutionStatus.AWAITING_ACTION_CONFIRMATION,
    message: "The command waits for your approval.",
  });
}
