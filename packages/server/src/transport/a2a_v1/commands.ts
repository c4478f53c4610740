import { create, type JsonValue } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  decodeRfcJson,
  ExecuteSlashCommandRequestSchema,
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
import { decodeSettings } from "@devtool/schema/a2a-v03";
import { openCall } from "./call.ts";
import { responseOf, textOf } from "./frames.ts";
import type { Answer, Frame } from "./operation.ts";
import type { A2aServiceOptions } from "./options.ts";

/** Lists the slash commands of a context, or of one that settings would begin (CMD-1). */
export async function getCommands(
  options: A2aServiceOptions,
  params: JsonValue | undefined,
  context: HandlerContext,
): Promise<Answer> {
  openedBy(options, params, context);
  const request = create(SlashCommandService.method.getAllSlashCommands.input, placeOf(params));
  const commands = await options.handler.commands.getAllSlashCommands(request, context);
  const answer = create(GetAllSlashCommandsResponseSchema, commands);
  return { case: "result", value: encodeRfcJson(GetAllSlashCommandsResponseSchema, answer) };
}

/** Runs a slash command: first how it started, then the updates of its task, for those who read on (CMD-1). */
export async function* executeCommand(
  options: A2aServiceOptions,
  params: JsonValue | undefined,
  context: HandlerContext,
): AsyncIterable<Frame> {
  const { view } = openedBy(options, params, context);
  const { commands, tasks } = options.handler;
  const response = create(RunSlashCommandResponseSchema, await commands.runSlashCommand(runRequest(params), context));
  const started = response.result ?? create(ExecuteSlashCommandResponseSchema);
  yield { result: JSON.stringify(encodeRfcJson(ExecuteSlashCommandResponseSchema, started)) };
  if (started.executionId === "") return;
  const from = create(SubscribeTaskRequestSchema, { taskId: started.executionId });
  for await (const { event } of tasks.subscribeTask(from, context)) {
    const next = create(TaskEventSchema, event);
    const update = responseOf(next, view);
    if (update) yield { result: textOf(update), id: next.sequence };
    if (isTerminal(next.state)) return;
  }
}

function openedBy(
  { extensionRequired }: A2aServiceOptions,
  params: JsonValue | undefined,
  context: HandlerContext,
): ReturnType<typeof openCall> {
  const schema = A2AService.method.getExtendedAgentCard.input;
  return openCall(schema, { ...create(schema), ...metadataOf(params) }, { context, extensionRequired });
}

function runRequest(params: JsonValue | undefined): RunSlashCommandRequest {
  const command = decodeRfcJson(ExecuteSlashCommandRequestSchema, params ?? {});
  return create(RunSlashCommandRequestSchema, { command, ...placeOf(params) });
}

/** The session of a command: beside the RFC's fields, `contextId` and `metadata` as a message has them. */
function placeOf(params: JsonValue | undefined): {
  readonly contextId?: string;
  readonly settings?: NonNullable<RunSlashCommandRequest["settings"]>;
} {
  const contextId = isObject(params) ? params.contextId : undefined;
  const { settings } = decodeSettings(metadataOf(params).metadata);
  return { ...(typeof contextId === "string" && { contextId }), ...(settings && { settings }) };
}

function metadataOf(params: JsonValue | undefined): { readonly metadata?: Record<string, JsonValue> } {
  const metadata = isObject(params) ? params.metadata : undefined;
  return isObject(metadata) ? { metadata } : {};
}

function isObject(value: JsonValue | undefined): value is Record<string, JsonValue> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
