import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  awaitedToolCalls,
  MessageDelivery,
  type PartSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
} from "@devtool/schema";
import {
  type ConfigureSession,
  type InputItem,
  ReviewDecision,
  type Submission,
} from "@devtool/schema/codex";
import { Code, DevtoolError, invalid, quoted } from "@devtool/server/agent";
import { OPS } from "./errors.ts";
import { type AnswerOp, answerTo, OPTIONS } from "./question.ts";

/** An operation that gives the agent input. */
export type Input = Extract<
  Submission["op"],
  { readonly case: "userInput" | "userTurn" }
>;

type PartInit = MessageInitShape<typeof PartSchema>;

/**
 * Returns the request that gives a session input. An empty task id begins the
 * session with its configuration.
 */
export function inputRequest(
  id: string,
  op: Input,
  taskId: string,
  { cwd = "", model = "", agent = "" }: Partial<ConfigureSession> = {},
): SendMessageRequest {
  const parts = op.value.items.map((item, index) =>
    partOf(item, `${OPS[op.case]}.items[${index}]`),
  );
  const turn = op.case === "userTurn" ? op.value : undefined;
  const session =
    taskId === ""
      ? { settings: { workspacePath: cwd }, sessionSettings: { model, agent } }
      : {};
  return create(SendMessageRequestSchema, {
    message: { messageId: id, parts, model: turn?.model ?? "" },
    taskId,
    messageSettings: turn
      ? {
          turn: {
            workingDirectory: turn.cwd,
            approvalPolicy: turn.approvalPolicy,
            sandboxPolicy: turn.sandboxPolicy,
          },
        }
      : { delivery: MessageDelivery.STEER },
    returnImmediately: true,
    ...session,
  });
}

/**
 * Returns the request that answers a question of a task. Throws for an answer
 * of another kind than the question.
 */
export function answerRequest(
  id: string,
  op: AnswerOp,
  task: Task,
): SendMessageRequest {
  const { callId } = op.value;
  const asked = awaitedToolCalls(task).find(
    (call) => call.toolCallId === callId,
  );
  const kind =
    asked?.confirmationRequest && answerTo(asked.confirmationRequest);
  if (kind !== undefined && kind !== op.case) {
    throw new DevtoolError(
      `tool_call_id ${quoted(callId)} asks for ${OPS[kind]}`,
      Code.FailedPrecondition,
      {
        details: { field: "tool_call_id", value: callId },
      },
    );
  }
  const selectedOptionId =
    op.case === "userInputAnswer"
      ? op.value.optionId
      : optionOf(op.value.decision);
  const options =
    asked?.confirmationRequest?.options.map((option) => option.id) ?? [];
  if (asked && !options.includes(selectedOptionId)) {
    const field =
      op.case === "userInputAnswer" ? "selected_option_id" : "decision";
    throw invalid(
      field,
      selectedOptionId,
      "is not offered",
      `choose ${options.join(", ")}`,
    );
  }
  const value = { toolCallId: callId, selectedOptionId };
  const parts: PartInit[] = [
    {
      content: { case: "confirmation", value },
      shownDigest: op.value.shownDigest,
    },
  ];
  if (op.case === "userInputAnswer" && op.value.text !== "") {
    parts.push({ content: { case: "text", value: op.value.text } });
  }
  return create(SendMessageRequestSchema, {
    message: { messageId: id, parts },
    taskId: task.id,
    returnImmediately: true,
  });
}

function optionOf(decision: ReviewDecision): string {
  const found = OPTIONS.find(([known]) => known === decision);
  if (found) return found[1];
  throw invalid(
    "decision",
    ReviewDecision[decision] ?? String(decision),
    "is not a decision",
  );
}

function partOf({ content }: InputItem, field: string): PartInit {
  switch (content.case) {
    case "text":
      return { content };
    case "image": {
      const { mediaType, data } = content.value;
      return {
        content: {
          case: "file",
          value: { mediaType, source: { case: "bytes", value: data } },
        },
      };
    }
    case undefined:
      throw invalid(field, "", "is empty");
    default:
      return content satisfies never;
  }
}
