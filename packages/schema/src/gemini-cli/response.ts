import {
  create,
  fromJson,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { isObject } from "@devtool/internal/json";
import {
  ErrorDetailsSchema,
  FileDiffSchema,
  type ToolCall,
  ToolCallStatus,
  type ToolOutput,
  ToolOutputSchema,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  FileDisplaySchema,
  type ToolCallResponse,
  ToolCallResponseSchema,
} from "../gen/devtool/coder_agent/v1alpha/tool_call_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";

/** Encodes the result of a call. Undefined if the call has not ended. */
export function encodeCallResponse(
  call: ToolCall,
): ToolCallResponse | undefined {
  switch (call.result.case) {
    case "output":
      return encodeOutput(call, call.result.value);
    case "error": {
      const { message, type = "" } = call.result.value;
      return createResponse(call, {
        forModel: { error: message },
        display: message,
        error: { message },
        errorType: type,
      });
    }
    case undefined:
      return call.status === ToolCallStatus.CANCELLED
        ? createResponse(call, {
            forModel: { error: "The call was declined or canceled." },
          })
        : undefined;
    default:
      return call.result satisfies never;
  }
}

function encodeOutput(
  call: ToolCall,
  { result }: ToolOutput,
): ToolCallResponse {
  switch (result.case) {
    case "text":
      return createResponse(call, {
        forModel: { output: result.value },
        display: result.value,
      });
    case "diff": {
      const {
        formattedDiff = "",
        oldContent,
        fileName,
        filePath,
        newContent,
      } = result.value;
      const file = create(FileDisplaySchema, {
        fileDiff: formattedDiff,
        fileName,
        filePath,
        newContent,
        originalContent: oldContent ?? "",
      });
      return createResponse(call, {
        forModel: { output: `Changed ${filePath}.` },
        display: encodeRfcJson(FileDisplaySchema, file),
      });
    }
    case "structuredData":
      return createResponse(call, {
        forModel: { output: JSON.stringify(result.value) },
        display: JSON.stringify(result.value),
      });
    case undefined:
      return createResponse(call, { forModel: { output: "" } });
    default:
      return result satisfies never;
  }
}

interface Outcome {
  /** The result for the model. */
  readonly forModel: JsonObject;
  readonly display?: JsonValue;
  readonly error?: JsonObject;
  readonly errorType?: string;
}

function createResponse(
  { toolCallId, toolName }: ToolCall,
  { forModel, display, error, errorType = "" }: Outcome,
): ToolCallResponse {
  const part = {
    functionResponse: { id: toolCallId, name: toolName, response: forModel },
  };
  return create(ToolCallResponseSchema, {
    callId: toolCallId,
    responseParts: fromJson(ValueSchema, [part]),
    errorType,
    resultDisplay:
      display === undefined ? undefined : fromJson(ValueSchema, display),
    error: error && fromJson(ValueSchema, error),
  });
}

/** Decodes the result of a call that has ended. Undefined if there is none. */
export function decodeCallResult(
  status: ToolCallStatus,
  answered: ToolCallResponse | undefined,
): ToolCall["result"] | undefined {
  if (!answered) return undefined;
  if (status === ToolCallStatus.FAILED) {
    const message = resultText(answered) || "the tool failed";
    const value = create(ErrorDetailsSchema, {
      message,
      type: answered.errorType || undefined,
    });
    return { case: "error", value };
  }
  if (status !== ToolCallStatus.SUCCEEDED) return undefined;
  const display = valueJson(answered.resultDisplay);
  if (!isObject(display) || typeof display.fileDiff !== "string") {
    const value = create(ToolOutputSchema, {
      result: { case: "text", value: resultText(answered) },
    });
    return { case: "output", value };
  }
  const { fileDiff, originalContent, fileName, filePath, newContent } =
    decodeRfcJson(FileDisplaySchema, display);
  const old = originalContent ? { oldContent: originalContent } : {};
  const diff = create(FileDiffSchema, {
    fileName,
    filePath,
    newContent,
    formattedDiff: fileDiff,
    ...old,
  });
  return {
    case: "output",
    value: create(ToolOutputSchema, { result: { case: "diff", value: diff } }),
  };
}

/** Returns the text for people, or else the text for the model. */
function resultText({
  resultDisplay,
  responseParts,
}: ToolCallResponse): string {
  const display = valueJson(resultDisplay);
  if (typeof display === "string" && display !== "") return display;
  return modelText(valueJson(responseParts));
}

function modelText(parts: JsonValue): string {
  if (Array.isArray(parts)) return parts.map(modelText).join("");
  if (!isObject(parts)) return typeof parts === "string" ? parts : "";
  const { text, functionResponse } = parts;
  const answer = isObject(functionResponse)
    ? functionResponse.response
    : undefined;
  const { output, error } = isObject(answer) ? answer : {};
  return (
    [text, output, error]
      .find((each) => typeof each === "string")
      ?.toString() ?? ""
  );
}

function valueJson(value: Value | undefined): JsonValue {
  return value ? toJson(ValueSchema, value) : null;
}
