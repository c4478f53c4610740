import { create } from "@bufbuild/protobuf";
import { emptyTask, TaskSchema } from "@devtool/schema";
import { decodeWithdrawal } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { commandFrames, listCommands, startCommand } from "../a2a/commands.ts";
import type { MethodCall } from "../a2a/method.ts";
import { subscriptionFrames } from "../a2a/subscription.ts";
import type { Frame } from "../http/answer.ts";
import { encoderFor, encodeTaskFor } from "./frames.ts";
import { type Operation, unary } from "./operation.ts";

/**
 * The methods that A2A 0.3 does not have: those of the extension (CMD-1), and
 * our own for queued messages (STREAM-8).
 */
export function ownOperations(handler: RequestHandler): readonly Operation[] {
  return [
    {
      name: "message/withdraw",
      rpcName: "WithdrawMessage",
      isStreaming: false,
      run: unary(decodeWithdrawal, async (request, call) => {
        const { task = emptyTask() } = await handler.tasks.withdrawMessage(
          request,
          call.context,
        );
        return encodeTaskFor(call, task);
      }),
    },
    {
      name: "commands/get",
      rpcName: "GetAllSlashCommands",
      isStreaming: false,
      run: (call) => listCommands(handler, call),
    },
    {
      name: "command/execute",
      rpcName: "RunSlashCommand",
      isStreaming: true,
      run: async (call) => {
        if (!call.takesStream) return startCommand(handler, call);
        const value = commandFrames(handler, call, (taskId) =>
          updatesOf(handler, call, taskId),
        );
        return { case: "stream", value };
      },
    },
  ];
}

/** Yields all frames of the task of a command until it rests. */
function updatesOf(
  handler: RequestHandler,
  call: MethodCall,
  taskId: string,
): AsyncIterable<Frame> {
  const start = { task: create(TaskSchema, { id: taskId }), after: 0n };
  return subscriptionFrames(handler, call, start, encoderFor(handler, call));
}
