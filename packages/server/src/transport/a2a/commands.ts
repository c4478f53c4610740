import { create, type JsonValue } from "@bufbuild/protobuf";
import {
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  encodeRfcJson,
  GetAllSlashCommandsResponseSchema,
} from "@devtool/schema";
import { decodeCommandPlace, decodeCommandRun } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Frame } from "../http/answer.ts";
import type { Answer } from "./answer.ts";
import type { MethodCall } from "./method.ts";

/** A call of a method of the extension (CMD-1). */
type CommandCall = Pick<MethodCall, "context" | "params" | "activates">;

/** Answers `commands/get`. */
export async function listCommands(
  { commands }: RequestHandler,
  { params, context }: Pick<CommandCall, "context" | "params">,
): Promise<Answer> {
  const place = decodeCommandPlace(params);
  const listed = await commands.getAllSlashCommands(place, context);
  const value = encodeRfcJson(GetAllSlashCommandsResponseSchema, listed);
  return { case: "result", value };
}

/** Answers `command/execute` with how the command started. */
export async function startCommand(
  handler: RequestHandler,
  call: CommandCall,
): Promise<Answer> {
  return { case: "result", value: encodeStart(await start(handler, call)) };
}

/**
 * Answers `command/execute` with how the command started, and then the frames of
 * its task, which `follow` returns by the id of the task.
 */
export async function* commandFrames(
  handler: RequestHandler,
  call: CommandCall,
  follow: (taskId: string) => AsyncIterable<Frame>,
): AsyncIterable<Frame> {
  // A caller at its limit of streams starts nothing.
  using _stream = handler.streams.enter(call.context);
  const started = await start(handler, call);
  yield { result: JSON.stringify(encodeStart(started)) };
  if (started.executionId !== "") yield* follow(started.executionId);
}

async function start(
  { commands }: RequestHandler,
  { params, context, activates: activateExtension }: CommandCall,
): Promise<ExecuteSlashCommandResponse> {
  const request = { ...decodeCommandRun(params), activateExtension };
  const { result } = await commands.runSlashCommand(request, context);
  return result ?? create(ExecuteSlashCommandResponseSchema);
}

function encodeStart(started: ExecuteSlashCommandResponse): JsonValue {
  return encodeRfcJson(ExecuteSlashCommandResponseSchema, started);
}
