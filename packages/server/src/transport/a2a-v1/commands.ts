import { create, type JsonValue } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { isTerminal } from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { enterView } from "../a2a/activation.ts";
import type { Answer } from "../a2a/answer.ts";
import { commandFrames, listCommands, startCommand } from "../a2a/commands.ts";
import type { Frame } from "../http/answer.ts";
import { type A2aV1Call, openCall } from "./call.ts";
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
  { handler }: A2aServiceOptions,
  { method, params, context, takesStream }: CommandCall,
): Promise<Answer> {
  const startsTurn = method === "command/execute";
  // Its client knows the extension, since it knows the method.
  const use = { knowsExtension: true, startsTurn };
  const schema = A2AService.method.getExtendedAgentCard.input;
  const call = openCall(schema, create(schema), { context, use });
  if (!startsTurn) return listCommands(handler, { params, context });
  if (!takesStream) return startCommand(handler, { ...call, params });
  const value = commandFrames(handler, { ...call, params }, (taskId) =>
    updatesOf(handler, call, taskId),
  );
  return { case: "stream", value };
}

/** Yields the updates of the task of a command until it ends. */
async function* updatesOf(
  { tasks }: RequestHandler,
  call: A2aV1Call,
  taskId: string,
): AsyncIterable<Frame> {
  for await (const { event } of tasks.subscribeTask({ taskId }, call.context)) {
    if (!event) continue;
    const response = streamResponseFor(event, enterView(call, event));
    if (response) yield frameFrom(response);
    if (isTerminal(event.state)) return;
  }
}
