import { create, type DescMethod, type JsonValue } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  decodeRfcJson,
  ExecuteSlashCommandRequestSchema,
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  encodeRfcJson,
  GetAllSlashCommandsResponseSchema,
  isTerminal,
  type RunSlashCommandRequest,
  RunSlashCommandRequestSchema,
  RunSlashCommandResponseSchema,
  SlashCommandService,
  SubscribeTaskRequestSchema,
  TaskEventSchema,
} from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import { decodeCommandPlace } from "@devtool/schema/a2a-v03";
import type { Answer, Frame } from "../http/answer.ts";
import { type Call, openCall, shownView } from "./call.ts";
import { frameOf, responseOf } from "./frames.ts";
import type { A2aServiceOptions } from "./options.ts";

/** The methods of the extension, which stand in no proto of A2A (CMD-1). */
export const COMMANDS: ReadonlyMap<string, DescMethod> = new Map<string, DescMethod>([
  ["commands/get", SlashCommandService.method.getAllSlashCommands],
  ["command/execute", SlashCommandService.method.runSlashCommand],
]);

/** Runs a method of the extension, in whichever binding. What a command does follows its start for who takes a stream. */
export function runCommand(
  options: A2aServiceOptions,
  { method, params }: { readonly method: string; readonly params: JsonValue | undefined },
  { context, takesStream }: { readonly context: HandlerContext; readonly takesStream: boolean },
): Promise<Answer> {
  if (method === "commands/get") return getCommands(options, params, context);
  if (takesStream) return Promise.resolve({ case: "stream", value: streamCommand(options, params, context) });
  return executeCommand(options, params, context);
}

/** Lists the slash commands of a context, or of one that settings would begin (CMD-1). */
async function getCommands(
  options: A2aServiceOptions,
  params: JsonValue | undefined,
  context: HandlerContext,
): Promise<Answer> {
  openedBy(context, { shows: true, speaks: false });
  const request = create(SlashCommandService.method.getAllSlashCommands.input, decodeCommandPlace(params));
  const commands = await options.handler.commands.getAllSlashCommands(request, context);
  const answer = create(GetAllSlashCommandsResponseSchema, commands);
  return { case: "result", value: encodeRfcJson(GetAllSlashCommandsResponseSchema, answer) };
}

/** Runs a slash command and answers how it started (CMD-1). */
async function executeCommand(
  options: A2aServiceOptions,
  params: JsonValue | undefined,
  context: HandlerContext,
): Promise<Answer> {
  const started = await startCommand(options, params, openedBy(context, { shows: true, speaks: true }));
  return { case: "result", value: encodeRfcJson(ExecuteSlashCommandResponseSchema, started) };
}

/** Runs a slash command: first how it started, then the updates of its task (CMD-1). */
async function* streamCommand(
  options: A2aServiceOptions,
  params: JsonValue | undefined,
  context: HandlerContext,
): AsyncIterable<Frame> {
  const call = openedBy(context, { shows: true, speaks: true });
  const { streams, tasks } = options.handler;
  using _stream = streams.enter(context);
  const started = await startCommand(options, params, call);
  yield { result: JSON.stringify(encodeRfcJson(ExecuteSlashCommandResponseSchema, started)) };
  if (started.executionId === "") return;
  const from = create(SubscribeTaskRequestSchema, { taskId: started.executionId });
  for await (const { event } of tasks.subscribeTask(from, context)) {
    const next = create(TaskEventSchema, event);
    const update = responseOf(next, shownView(call, next));
    if (update) yield frameOf(update);
    if (isTerminal(next.state)) return;
  }
}

async function startCommand(
  { handler }: A2aServiceOptions,
  params: JsonValue | undefined,
  { activates, context }: Call,
): Promise<ExecuteSlashCommandResponse> {
  const request = { ...runRequest(params), activateExtension: activates };
  const response = create(RunSlashCommandResponseSchema, await handler.commands.runSlashCommand(request, context));
  return response.result ?? create(ExecuteSlashCommandResponseSchema);
}

/** Opens a call of a method of the extension: who knows such a method knows the extension. */
function openedBy(
  context: HandlerContext,
  known: NonNullable<Parameters<typeof openCall>[2]["known"]>,
): ReturnType<typeof openCall> {
  const schema = A2AService.method.getExtendedAgentCard.input;
  return openCall(schema, create(schema), { context, known });
}

function runRequest(params: JsonValue | undefined): RunSlashCommandRequest {
  const command = decodeRfcJson(ExecuteSlashCommandRequestSchema, params ?? {});
  return create(RunSlashCommandRequestSchema, { command, ...decodeCommandPlace(params) });
}
