import { create, type DescMethod } from "@bufbuild/protobuf";
import {
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
import {
  decodeCommandPlace,
  decodeCommandRun,
  decodeWithdrawal,
} from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Answer } from "../a2a/answer.ts";
import type { Method, MethodCall } from "../a2a/method.ts";
import { subscriptionFrames } from "../a2a/subscription.ts";
import type { Frame } from "../http/answer.ts";
import { encoderFor, encodeTaskFor } from "./frames.ts";
import type { Operation } from "./operation.ts";

/**
 * The methods that A2A 0.3 does not have: those of the extension (CMD-1), and
 * our own for queued messages (STREAM-8).
 */
export function ownOperations(handler: RequestHandler): readonly Operation[] {
  const { getAllSlashCommands, runSlashCommand } = SlashCommandService.method;
  const operation = (
    name: string,
    method: DescMethod,
    run: Method,
  ): Operation => ({
    ...{ name, method, run },
    isStreaming: method === runSlashCommand,
  });
  return [
    operation(
      "message/withdraw",
      TaskService.method.withdrawMessage,
      async (call) => {
        const { task } = await handler.tasks.withdrawMessage(
          decodeWithdrawal(call.params),
          call.context,
        );
        return {
          case: "result",
          value: encodeTaskFor(call, create(TaskSchema, task)),
        };
      },
    ),
    operation(
      "commands/get",
      getAllSlashCommands,
      async ({ params, context }) => {
        const request = create(
          getAllSlashCommands.input,
          decodeCommandPlace(params),
        );
        const commands = await handler.commands.getAllSlashCommands(
          request,
          context,
        );
        const listed = create(GetAllSlashCommandsResponseSchema, commands);
        return {
          case: "result",
          value: encodeRfcJson(GetAllSlashCommandsResponseSchema, listed),
        };
      },
    ),
    operation("command/execute", runSlashCommand, (call) =>
      executeCommand(handler, call),
    ),
  ];
}

/**
 * Starts a command and answers how it started.
 *
 * For a client that accepts a stream, the updates of its task follow.
 */
async function executeCommand(
  handler: RequestHandler,
  call: MethodCall,
): Promise<Answer> {
  if (!call.takesStream) {
    const started = await startCommand(handler, call);
    return {
      case: "result",
      value: encodeRfcJson(ExecuteSlashCommandResponseSchema, started),
    };
  }
  const stream = handler.streams.enter(call.context);
  try {
    const started = await startCommand(handler, call);
    return {
      case: "stream",
      value: commandFrames(handler, call, started, stream),
    };
  } catch (reason) {
    stream[Symbol.dispose]();
    throw reason;
  }
}

async function startCommand(
  handler: RequestHandler,
  call: MethodCall,
): Promise<ExecuteSlashCommandResponse> {
  const request = create(RunSlashCommandRequestSchema, {
    ...decodeCommandRun(call.params),
    activateExtension: call.activates,
  });
  const response = await handler.commands.runSlashCommand(
    request,
    call.context,
  );
  return (
    create(RunSlashCommandResponseSchema, response).result ??
    create(ExecuteSlashCommandResponseSchema)
  );
}

/**
 * Yields how a command started, then the updates of its task.
 *
 * Releases the place of the stream at the end.
 */
async function* commandFrames(
  handler: RequestHandler,
  call: MethodCall,
  started: ExecuteSlashCommandResponse,
  stream: Disposable,
): AsyncIterable<Frame> {
  using _stream = stream;
  yield {
    result: JSON.stringify(
      encodeRfcJson(ExecuteSlashCommandResponseSchema, started),
    ),
  };
  const taskId = started.executionId;
  const task = create(TaskSchema, { id: taskId });
  if (taskId !== "") {
    yield* subscriptionFrames(
      handler,
      call,
      { task, after: 0n },
      encoderFor(handler, call),
    );
  }
}
