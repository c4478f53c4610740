import { toJson } from "@bufbuild/protobuf";
import {
  ConfirmationRequestSchema,
  FileDiffSchema,
  findToolCallDetail,
  reachOfAnswer,
  type Task,
  type ToolCall,
  ToolCallStatus,
  type ToolOutput,
} from "@devtool/schema";
import type { UIMessage } from "ai";
import { pendingToolCalls } from "../confirmation.ts";
import { approvalIdOf, type Chunk } from "./ui-message.ts";

/**
 * Encodes the tool calls of one message of a chat.
 */
export class ToolChunks {
  /**
   * The arguments of the calls that the message shows, as JSON: a call is shown
   * anew when they change.
   */
  readonly #inputs = new Map<string, string>();
  /**
   * The approvals that the message shows as open, by the ids of their calls.
   */
  readonly #asked = new Map<string, string>();

  constructor(continued?: UIMessage) {
    for (const part of continued?.parts ?? []) {
      if (part.type !== "dynamic-tool") continue;
      this.#inputs.set(part.toolCallId, JSON.stringify(part.input));
      if (part.state === "approval-requested") {
        this.#asked.set(part.toolCallId, part.approval.id);
      }
    }
  }

  /**
   * Returns the chunks that show a call as it is now, but for its question.
   */
  update(call: ToolCall, task: Task): Chunk[] {
    const { toolCallId, confirmationRequest } = call;
    const chunks = this.#input(call);
    const approvalId = this.#asked.get(toolCallId);
    // The open question was answered, by whomever.
    if (approvalId !== undefined && !confirmationRequest) {
      this.#asked.delete(toolCallId);
      const approved = !isDeclined(toolCallId, task);
      chunks.push({
        type: "tool-approval-response",
        approvalId,
        approved,
        providerExecuted: true,
      });
    }
    return [...chunks, ...resultOf(call, task)];
  }

  /**
   * Returns requests to approve the calls that wait for an answer and are not
   * shown so.
   */
  ask(task: Task): Chunk[] {
    return pendingToolCalls(task).flatMap((call): Chunk[] => {
      const { toolCallId, confirmationRequest } = call;
      const approvalId = approvalIdOf(call);
      if (!confirmationRequest || this.#asked.get(toolCallId) === approvalId) {
        return [];
      }
      this.#asked.set(toolCallId, approvalId);
      const approvalDescriptor = toJson(
        ConfirmationRequestSchema,
        confirmationRequest,
      );
      const { reason = "" } = findToolCallDetail(task, toolCallId) ?? {};
      const request = {
        type: "tool-approval-request",
        toolCallId,
        approvalId,
        approvalDescriptor,
      } as const;
      return [
        ...this.#input(call),
        { ...request, ...(reason !== "" && { reason }) },
      ];
    });
  }

  #input({
    toolCallId,
    toolName,
    description,
    inputParameters: input = {},
  }: ToolCall): Chunk[] {
    const shown = JSON.stringify(input);
    if (this.#inputs.get(toolCallId) === shown) return [];
    this.#inputs.set(toolCallId, shown);
    const title = description || toolName;
    return [
      {
        type: "tool-input-available",
        toolCallId,
        toolName,
        title,
        input,
        dynamic: true,
        providerExecuted: true,
      },
    ];
  }
}

function resultOf(call: ToolCall, task: Task): Chunk[] {
  const { toolCallId, status, liveContent, result } = call;
  switch (status) {
    case ToolCallStatus.EXECUTING: {
      const output =
        liveContent ?? findToolCallDetail(task, toolCallId)?.progress?.text;
      if (output === undefined) return [];
      return [
        {
          type: "tool-output-available",
          toolCallId,
          output,
          preliminary: true,
          ...OURS,
        },
      ];
    }
    case ToolCallStatus.SUCCEEDED: {
      const output = result.case === "output" ? outputOf(result.value) : "";
      return [{ type: "tool-output-available", toolCallId, output, ...OURS }];
    }
    case ToolCallStatus.FAILED: {
      const errorText =
        result.case === "error" ? result.value.message : "the tool call failed";
      return [{ type: "tool-output-error", toolCallId, errorText, ...OURS }];
    }
    case ToolCallStatus.CANCELLED:
      if (isDeclined(toolCallId, task)) {
        return [{ type: "tool-output-denied", toolCallId }];
      }
      return [
        {
          type: "tool-output-error",
          toolCallId,
          errorText: "the tool call was canceled",
          ...OURS,
        },
      ];
    default:
      return [];
  }
}

const OURS = { dynamic: true, providerExecuted: true } as const;

function isDeclined(toolCallId: string, task: Task): boolean {
  const detail = findToolCallDetail(task, toolCallId);
  return reachOfAnswer(detail?.selectedOptionId ?? "") === "decline";
}

function outputOf({ result }: ToolOutput): unknown {
  switch (result.case) {
    case "text":
    case "structuredData":
      return result.value;
    case "diff":
      return toJson(FileDiffSchema, result.value);
    default:
      return "";
  }
}
