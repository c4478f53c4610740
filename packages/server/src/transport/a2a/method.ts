import type { JsonValue } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { emptyTask, type Task, type TaskEvent } from "@devtool/schema";
import { JsonRpcCode, type StreamView } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { AskedView } from "./activation.ts";
import type { Answer } from "./answer.ts";
import { JsonRpcFailure } from "./json-rpc.ts";
import { outputRefusal } from "./output-modes.ts";

/** A call of a method of A2A 0.3, independent of its binding. */
export interface MethodCall {
  readonly context: HandlerContext;

  readonly params: JsonValue | undefined;

  /** The view that the client asks for (CARD-3). */
  readonly view: AskedView;

  /** Whether the call activates the extension in its conversation. */
  readonly activates: boolean;

  /**
   * Makes the response name the extension as active.
   *
   * Has no effect once the response headers are sent.
   */
  readonly nameExtension: () => void;

  /**
   * Returns an event as JSON text of A2A 0.3 in a view; undefined for an event
   * that the view does not show. What takes long to encode is encoded once for
   * all its readers.
   */
  readonly encodeEvent: (
    event: TaskEvent,
    view: StreamView,
  ) => string | undefined;

  /**
   * The sequence of the last event that the client has, from `Last-Event-ID`;
   * undefined when it sent none.
   */
  readonly lastEventId: bigint | undefined;

  /**
   * Whether the client accepts a stream.
   *
   * Decides for methods that offer both a stream and a single result.
   */
  readonly takesStream: boolean;
}

export type { Answer };

/** A method of A2A 0.3, or of the extension. */
export type Method = (call: MethodCall) => Promise<Answer>;

/**
 * A dialect of A2A 0.3: the same methods and bindings with messages of another
 * form.
 */
export interface MethodDialect {
  /** Whether a call is made in the dialect. */
  takes(call: MethodCall): boolean;

  /**
   * Answers a call of the method `name`.
   *
   * `method` is the implementation of that method in A2A 0.3 itself.
   */
  answer(name: string, call: MethodCall, method: Method): Promise<Answer>;
}

/**
 * Cancels a task of the caller. Throws A2A's own error for a task that cannot
 * be canceled.
 */
export async function cancelTask(
  { tasks }: RequestHandler,
  { context }: Pick<MethodCall, "context">,
  taskId: string,
): Promise<Task> {
  try {
    const { task = emptyTask() } = await tasks.cancelTask({ taskId }, context);
    return task;
  } catch (reason) {
    const { code, message } = DevtoolError.from(reason);
    if (code !== Code.FailedPrecondition) throw reason;
    throw new JsonRpcFailure(message, JsonRpcCode.TASK_NOT_CANCELABLE);
  }
}

/** Throws when a client accepts none of the agent's output media types. */
export function assertTakesOutput(
  accepted: readonly string[],
  outputModes: readonly string[] | undefined,
): void {
  const refusal = outputRefusal(accepted, outputModes);
  if (refusal !== undefined) {
    throw new JsonRpcFailure(refusal, JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED);
  }
}
