import {
  create,
  type JsonObject,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { defined } from "@devtool/internal/json";
import { renderAsked } from "../a2a-v03/plain-text.ts";
import type { ToolCall } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  InterruptDetailSchema,
  InterruptSchema,
} from "../gen/devtool/ag_ui/v1alpha/event_pb.ts";
import { type Task, TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import { isInterrupted } from "../task-state.ts";
import { awaitedToolCalls, findToolCallDetail } from "../tool-call.ts";

type Interrupt = MessageShape<typeof InterruptSchema>;

/**
 * Returns the JSON Schema of a tool's arguments; undefined if it is unknown.
 */
export type ParametersOf = (toolName: string) => JsonObject | undefined;

/**
 * Lists what a task waits for: all calls that await approval, or else the input
 * that it needs. Empty if nothing.
 */
export function interruptsOf(
  task: Task,
  parametersOf: ParametersOf,
): Interrupt[] {
  if (!isInterrupted(task.state)) return [];
  const calls = awaitedToolCalls(task).map((call) =>
    callInterrupt(call, task, parametersOf),
  );
  if (calls.length > 0) return calls;
  const needsSignIn = task.state === TaskState.AUTH_REQUIRED;
  const input = create(InterruptSchema, {
    id: inputInterruptId(task),
    reason: needsSignIn ? "devtool:auth_required" : "input_required",
    message:
      task.stateText ||
      (needsSignIn
        ? "The agent waits for a sign-in."
        : "The agent waits for a message."),
    responseSchema: {
      type: "object",
      additionalProperties: false,
      required: ["text"],
      properties: {
        text: { type: "string", description: "What to tell the agent." },
      },
    },
  });
  return [input];
}

/**
 * Returns the id of the interrupt of a call that asks. It holds the digest of
 * what was shown.
 */
export function callInterruptId(toolCallId: string, task: Task): string {
  const { digest = new Uint8Array() } =
    findToolCallDetail(task, toolCallId) ?? {};
  return `${toolCallId}:${base64Encode(digest, "url")}`;
}

/**
 * Returns the id of the interrupt of a task that waits for a message. Each
 * message of a user makes another one.
 */
export function inputInterruptId({ id, history }: Task): string {
  return `${id}:input:${history.length}`;
}

function callInterrupt(
  call: ToolCall,
  task: Task,
  parametersOf: ParametersOf,
): Interrupt {
  const { toolCallId, toolName, confirmationRequest, inputParameters } = call;
  const {
    reason,
    parentToolCallId,
    argumentsEditable = false,
  } = findToolCallDetail(task, toolCallId) ?? {};
  const detail = create(
    InterruptDetailSchema,
    defined({
      confirmationRequest,
      arguments: inputParameters,
      parentToolCallId,
      reason,
    }),
  );
  const { options = [], details } = confirmationRequest ?? {};
  const parameters = argumentsEditable
    ? (parametersOf(toolName) ?? { type: "object" })
    : undefined;
  const editing =
    "Arguments in place of those of the call: all of them. Nothing runs: the call asks again with them.";
  const newContent = {
    type: "string",
    description: "Content to write in place of the proposed one.",
  };
  return create(InterruptSchema, {
    id: callInterruptId(toolCallId, task),
    reason: "tool_call",
    // A front end may show nothing else.
    message: renderAsked(call),
    toolCallId,
    responseSchema: {
      type: "object",
      additionalProperties: false,
      required: ["approved"],
      properties: defined({
        approved: { type: "boolean" },
        option: {
          type: "string",
          enum: options.map(({ id }) => id),
          description: options
            .map(({ id, name, description }) =>
              [id, name, description].filter(Boolean).join(": "),
            )
            .join("; "),
        },
        editedArgs: parameters && { ...parameters, description: editing },
        newContent:
          details?.case === "fileEditDetails" ? newContent : undefined,
      }),
    },
    metadata: { devtool: toJson(InterruptDetailSchema, detail) },
  });
}
