import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { ToolCallSchema as GeminiCliToolCallSchema } from "../gen/devtool/coder_agent/v1alpha/tool_call_pb.ts";
import {
  type ToolCallDetail,
  ToolCallDetailSchema,
  ToolCallStage,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { isAwaitingApproval } from "../tool-call.ts";
import { stageOf } from "../tool-call-stage.ts";
import { missing } from "../wire-error.ts";
import {
  decodeConfirmationDetails,
  encodeConfirmationDetails,
} from "./confirmation-details.ts";
import { decodeCallResult, encodeCallResponse } from "./response.ts";

/** The names of the stages in the dialect. */
const STATUS_NAMES: ReadonlyMap<ToolCallStage, string> = new Map([
  [ToolCallStage.VALIDATING, "validating"],
  [ToolCallStage.AWAITING_APPROVAL, "awaiting_approval"],
  [ToolCallStage.SCHEDULED, "scheduled"],
  [ToolCallStage.EXECUTING, "executing"],
  [ToolCallStage.SUCCEEDED, "success"],
  [ToolCallStage.FAILED, "error"],
  [ToolCallStage.CANCELLED, "cancelled"],
]);

const STAGES: ReadonlyMap<string, ToolCallStage> = new Map(
  [...STATUS_NAMES].map(([stage, name]) => [name, stage]),
);

/** The RFC's status of a stage. Default: PENDING. */
const STATUSES: Readonly<Partial<Record<ToolCallStage, ToolCallStatus>>> = {
  [ToolCallStage.EXECUTING]: ToolCallStatus.EXECUTING,
  [ToolCallStage.SUCCEEDED]: ToolCallStatus.SUCCEEDED,
  [ToolCallStage.FAILED]: ToolCallStatus.FAILED,
  [ToolCallStage.CANCELLED]: ToolCallStatus.CANCELLED,
};

/**
 * Encodes a call as the data of a part. The parameter schema of its tool, most
 * of the bytes in the original, is omitted.
 */
export function encodeGeminiCliCall(
  call: ToolCall,
  detail: ToolCallDetail | undefined,
): JsonObject {
  const {
    toolCallId,
    toolName,
    description = "",
    inputParameters,
    confirmationRequest,
  } = call;
  const kind = KINDS[toolName] ?? "other";
  const response = encodeCallResponse(call);
  return encodeRfcJson(
    GeminiCliToolCallSchema,
    create(GeminiCliToolCallSchema, {
      request: {
        callId: toolCallId,
        name: toolName,
        args: inputParameters ?? {},
        isClientInitiated: false,
      },
      status: STATUS_NAMES.get(detail?.stage || stageOf(call)) ?? "validating",
      tool: {
        name: toolName,
        displayName: toolName,
        description,
        kind,
        isOutputMarkdown: false,
        canUpdateOutput: kind === "execute",
      },
      confirmationDetails:
        isAwaitingApproval(call) && confirmationRequest
          ? encodeConfirmationDetails(call, confirmationRequest)
          : undefined,
      response,
    }),
  );
}

/** Kinds of our built-in tools. Other tools are `other`. */
const KINDS: Readonly<Record<string, string>> = {
  glob: "search",
  ide_diagnostics: "read",
  ide_open_file: "read",
  list_directory: "read",
  multi_edit: "edit",
  read_file: "read",
  read_many_files: "read",
  replace: "edit",
  run_shell_command: "execute",
  save_memory: "think",
  search_file_content: "search",
  update_plan: "think",
  web_fetch: "fetch",
  write_file: "edit",
};

/** A decoded call, with its stage in the scheduler. */
export interface DecodedCall {
  readonly call: ToolCall;
  readonly detail: ToolCallDetail;
}

/**
 * Decodes a call from the data of a part. Throws a `WireError` if it has no id.
 */
export function decodeGeminiCliCall(data: JsonObject): DecodedCall {
  const decoded = decodeRfcJson(GeminiCliToolCallSchema, data);
  if (!decoded.request?.callId) {
    throw missing("request.callId");
  }
  const stage = STAGES.get(decoded.status) ?? ToolCallStage.UNSPECIFIED;
  const status = STATUSES[stage] ?? ToolCallStatus.PENDING;
  const { callId, name, args } = decoded.request;
  const { confirmationDetails } = decoded;
  const call = create(ToolCallSchema, {
    toolCallId: callId,
    toolName: name,
    status,
    inputParameters: args,
    result: decodeCallResult(status, decoded.response) ?? { case: undefined },
    confirmationRequest:
      decoded.status === "awaiting_approval" && confirmationDetails
        ? decodeConfirmationDetails(confirmationDetails)
        : undefined,
  });
  return { call, detail: create(ToolCallDetailSchema, { stage }) };
}
