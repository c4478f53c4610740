import { create, isMessage, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  CancelTaskRequestSchema,
  emptyTask,
  GetTaskRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
} from "@devtool/schema";
import { JsonRpcCode, type StreamView } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Answer } from "../http/answer.ts";
import { JsonRpcFailure } from "../http/json-rpc.ts";
import type { AskedView } from "./activation.ts";
import { outputRefusal } from "./output-modes.ts";

/** One call of a method of A2A 0.3, whichever binding it came by. */
export interface MethodCall {
  readonly context: HandlerContext;
  readonly params: JsonValue | undefined;
  /** How much of the conversation the client asks to be shown (CARD-3). */
  readonly view: AskedView;
  /** Whether the call makes the extension active in its conversation. */
  readonly activates: boolean;
  /** Makes the response name the extension as active, unless its headers were sent already. */
  readonly nameExtension: () => void;
  /** The JSON text of an event as A2A 0.3 writes it in a view, made once for all its readers; undefined when that shows nothing of it. */
  readonly textOf: (event: TaskEvent, view: StreamView) => string | undefined;
  /** The sequence of the last event that the client has, by `Last-Event-ID`; undefined when it sent none. */
  readonly lastEventId: bigint | undefined;
  /** Whether the client takes a stream where the method offers both. */
  readonly takesStream: boolean;
}

/** A method of A2A 0.3, or of the extension. */
export type Method = (call: MethodCall) => Promise<Answer>;

/** A dialect that is spoken in the methods of A2A 0.3, and answered in both of its bindings. */
export interface MethodDialect {
  /** Whether a call is made in the dialect. */
  takes(call: MethodCall): boolean;
  /** Answers a call; `method` is the method of its name as A2A 0.3 itself has it. */
  answer(name: string, call: MethodCall, method: Method): Promise<Answer>;
}

/** A task of the caller. Throws when there is none of this id. */
export async function findTask({ tasks }: RequestHandler, call: MethodCall, taskId: string): Promise<Task> {
  const { task } = await tasks.getTask(create(GetTaskRequestSchema, { taskId }), call.context);
  return create(TaskSchema, task ?? emptyTask());
}

/** Cancels a task of the caller. Throws A2A's own error for one that cannot be canceled. */
export async function cancelTask({ tasks }: RequestHandler, call: MethodCall, taskId: string): Promise<Task> {
  try {
    const { task } = await tasks.cancelTask(create(CancelTaskRequestSchema, { taskId }), call.context);
    return create(TaskSchema, task);
  } catch (reason) {
    if (!(reason instanceof DevtoolError) || reason.code !== Code.FailedPrecondition) throw reason;
    throw new JsonRpcFailure(reason.message, JsonRpcCode.TASK_NOT_CANCELABLE);
  }
}

/** Throws when a client takes none of the media types of what the agent answers with. */
export function assertTakesOutput(accepted: readonly string[], outputModes: readonly string[] | undefined): void {
  const refusal = outputRefusal(accepted, outputModes);
  if (refusal !== undefined) throw new JsonRpcFailure(refusal, JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED);
}

/** The event that a handler yields: the very one of the log. */
export function eventOf(event: MessageInitShape<typeof TaskEventSchema>): TaskEvent {
  return isMessage(event, TaskEventSchema) ? event : create(TaskEventSchema, event);
}
