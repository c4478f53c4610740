import { create, type JsonValue } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  encodeRfcJson,
  GetAllSlashCommandsResponseSchema,
  isTerminal,
  RunSlashCommandRequestSchema,
  RunSlashCommandResponseSchema,
  SlashCommandService,
  SubscribeTaskRequestSchema,
  TaskEventSchema,
} from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import { decodeCommandPlace, decodeCommandRun } from "@devtool/schema/a2a-v03";
import type { Answer } from "../a2a/answer.ts";
import type { Frame } from "../http/answer.ts";
import { type A2aV1Call, enterView, openCall } from "./call.ts";
import { frameFrom, streamResponseFor } from "./frames.ts";
import type { A2aServiceOptions } from "./options.ts";

/**
 * The methods of the extension, which no proto of A2A declares (CMD-1).
 */
export const COMMANDS: readonly string[] = ["commands/get", "command/execute"];

/** A call of a method of the extension, as a binding has read it. */
export interface CommandCall {
  /** A name in `COMMANDS`. */
  readonly method: string;

  readonly params: JsonValue | undefined;

  readonly context: HandlerContext;

  /**
   * Whether the client accepts a stream: then the updates of a command's task
   * follow its start.
   */
  readonly takesStream: boolean;
}

/** Runs a method of the extension, for any binding. */
export async function runCommand(
  options: A2aServiceOptions,
  command: CommandCall,
): Promise<Answer> {
  const { method, params, context, takesStream } = command;
  if (method === "commands/get") {
    openCommandCall(context, "reads");
    const request = create(
      SlashCommandService.method.getAllSlashCommands.input,
      decodeCommandPlace(params),
    );
    const listed = await options.handler.commands.getAllSlashCommands(
      request,
      context,
    );
    const response = create(GetAllSlashCommandsResponseSchema, listed);
    return {
      case: "result",
      value: encodeRfcJson(GetAllSlashCommandsResponseSchema, response),
    };
  }
  if (takesStream) {
    return { case: "stream", value: streamCommand(options, params, context) };
  }
  const started = await startCommand(
    options,
    params,
    openCommandCall(context, "starts a turn"),
  );
  return {
    case: "result",
    value: encodeRfcJson(ExecuteSlashCommandResponseSchema, started),
  };
}

/** Yields how a slash command started, then the updates of its task (CMD-1). */
async function* streamCommand(
  options: A2aServiceOptions,
  params: JsonValue | undefined,
  context: HandlerContext,
): AsyncIterable<Frame> {
  const call = openCommandCall(context, "starts a turn");
  const { streams, tasks } = options.handler;
  using _stream = streams.enter(context);
  const started = await startCommand(options, params, call);
  yield {
    result: JSON.stringify(
      encodeRfcJson(ExecuteSlashCommandResponseSchema, started),
    ),
  };
  if (started.executionId === "") return;
  const from = create(SubscribeTaskRequestSchema, {
    taskId: started.executionId,
  });
  for await (const { event } of tasks.subscribeTask(from, context)) {
    const next = create(TaskEventSchema, event);
    const response = streamResponseFor(next, enterView(call, next));
    if (response) yield frameFrom(response);
    if (isTerminal(next.state)) return;
  }
}

async function startCommand(
  { handler }: A2aServiceOptions,
  params: JsonValue | undefined,
  { activates, context }: A2aV1Call,
): Promise<ExecuteSlashCommandResponse> {
  const request = create(RunSlashCommandRequestSchema, {
    ...decodeCommandRun(params),
    activateExtension: activates,
  });
  const response = await handler.commands.runSlashCommand(request, context);
  return (
    create(RunSlashCommandResponseSchema, response).result ??
    create(ExecuteSlashCommandResponseSchema)
  );
}

/**
 * Opens a call of a method of the extension.
 *
 * Its client knows the extension, since it knows the method.
 */
function openCommandCall(
  context: HandlerContext,
  kind: "reads" | "starts a turn",
): A2aV1Call {
  const schema = A2AService.method.getExtendedAgentCard.input;
  const use = { knowsExtension: true, startsTurn: kind === "starts a turn" };
  return openCall(schema, create(schema), { context, use });
}
