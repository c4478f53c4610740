import { create, type DescMethod, type JsonObject } from "@bufbuild/protobuf";
import {
  decodeRfcJson,
  ExecuteSlashCommandRequestSchema,
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  encodeRfcJson,
  GetAllSlashCommandsResponseSchema,
  RunSlashCommandRequestSchema,
  RunSlashCommandResponseSchema,
  SlashCommandService,
  TaskSchema,
  TaskService,
} from "@devtool/schema";
import { decodeCommandPlace, decodeWithdrawal } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Method, MethodCall } from "../a2a/method.ts";
import { subscriptionFrames } from "../a2a/subscription.ts";
import type { Answer, Frame } from "../http/answer.ts";
import { shownTo, taskJson } from "./frames.ts";
import type { Operation } from "./operation.ts";

/** The methods that A2A 0.3 does not have: those of the extension (CMD-1), and ours for messages that wait (STREAM-8). */
export function ownOperations(handler: RequestHandler): readonly Operation[] {
  const { getAllSlashCommands, runSlashCommand } = SlashCommandService.method;
  const operation = (name: string, method: DescMethod, run: Method): Operation => ({
    ...{ name, method, run },
    isStreaming: method === runSlashCommand,
  });
  return [
    operation("message/withdraw", TaskService.method.withdrawMessage, (call) => withdrawMessage(handler, call)),
    operation("commands/get", getAllSlashCommands, (call) => getCommands(handler, call)),
    operation("command/execute", runSlashCommand, (call) => executeCommand(handler, call)),
  ];
}

/** Removes a message that waits, and answers with the task. */
async function withdrawMessage({ tasks }: RequestHandler, call: MethodCall): Promise<Answer> {
  const { task } = await tasks.withdrawMessage(decodeWithdrawal(call.params), call.context);
  return { case: "result", value: taskJson(create(TaskSchema, task), call, undefined) };
}

async function getCommands({ commands }: RequestHandler, { params, context }: MethodCall): Promise<Answer> {
  const request = create(SlashCommandService.method.getAllSlashCommands.input, decodeCommandPlace(params));
  const listed = create(GetAllSlashCommandsResponseSchema, await commands.getAllSlashCommands(request, context));
  return { case: "result", value: encodeRfcJson(GetAllSlashCommandsResponseSchema, listed) };
}

/** Answers how the command started; for a client that takes a stream, what it does follows. */
async function executeCommand(handler: RequestHandler, call: MethodCall): Promise<Answer> {
  if (!call.takesStream) return { case: "result", value: encodeStarted(await startCommand(handler, call)) };
  const stream = handler.streams.enter(call.context);
  try {
    const started = await startCommand(handler, call);
    return { case: "stream", value: startedThenUpdates(handler, call, { started, stream }) };
  } catch (reason) {
    stream[Symbol.dispose]();
    throw reason;
  }
}

async function startCommand(handler: RequestHandler, call: MethodCall): Promise<ExecuteSlashCommandResponse> {
  const request = create(RunSlashCommandRequestSchema, {
    command: decodeRfcJson(ExecuteSlashCommandRequestSchema, call.params ?? {}),
    ...decodeCommandPlace(call.params),
    activateExtension: call.activates,
  });
  const answer = await handler.commands.runSlashCommand(request, call.context);
  return create(RunSlashCommandResponseSchema, answer).result ?? create(ExecuteSlashCommandResponseSchema);
}

function encodeStarted(started: ExecuteSlashCommandResponse): JsonObject {
  return encodeRfcJson(ExecuteSlashCommandResponseSchema, started);
}

async function* startedThenUpdates(
  handler: RequestHandler,
  call: MethodCall,
  { started, stream }: { readonly started: ExecuteSlashCommandResponse; readonly stream: Disposable },
): AsyncIterable<Frame> {
  using _stream = stream;
  yield { result: JSON.stringify(encodeStarted(started)) };
  const taskId = started.executionId;
  const task = create(TaskSchema, { id: taskId });
  if (taskId !== "") yield* subscriptionFrames(handler, call, { task, after: 0n }, shownTo(call));
}
