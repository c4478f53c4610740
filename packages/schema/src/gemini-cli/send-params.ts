import {
  create,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
} from "@devtool/internal/json";
import { encodePart } from "../a2a-v03/part.ts";
import { assertNoSettings } from "../a2a-v03/settings.ts";
import { settingsMetadata } from "../a2a-v03/task-metadata.ts";
import { PartSchema as A2aPartSchema } from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { AgentSettingsSchema } from "../gen/devtool/coder_agent/v1alpha/stream_pb.ts";
import { PartSchema } from "../gen/devtool/v1alpha/task_pb.ts";
import type { SendMessageRequest } from "../gen/devtool/v1alpha/task_service_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { missing, quote, WireError } from "../wire-error.ts";
import { decodeConfirmation } from "./confirmation.ts";
import { encodeGeminiCliPart } from "./part.ts";
import {
  CODER_AGENT_KEY,
  coderAgentMetadata,
  encodeGeminiCliSettings,
  settingsFromGeminiCli,
} from "./settings.ts";

/**
 * Encodes the parameters of `message/send` and `message/stream` for a server
 * that speaks the dialect.
 */
export function encodeGeminiCliSend(request: SendMessageRequest): JsonObject {
  const { message, taskId, contextId } = request;
  if (!message) throw missing("message");
  return {
    message: defined({
      kind: "message",
      messageId: message.messageId,
      role: "user",
      parts: message.parts.flatMap((part) => encodeGeminiCliPart(part) ?? []),
      metadata: {
        [CODER_AGENT_KEY]: encodeRfcJson(
          AgentSettingsSchema,
          encodeGeminiCliSettings(request),
        ),
      },
      taskId: taskId || undefined,
      contextId: contextId || undefined,
    }),
    configuration: { blocking: !request.returnImmediately },
  };
}

/**
 * Returns whether the parameters of a call are in the dialect: they have its
 * settings, or an answer in its form.
 */
export function isGeminiCliSend(params: JsonValue | undefined): boolean {
  const message = messageIn(params);
  if (!message) return false;
  const settings = coderAgentMetadata(objectOrEmpty(message.metadata));
  return settings !== undefined || listOrEmpty(message.parts).some(isAnswer);
}

/**
 * Converts the parameters of a call from the dialect to the RFC. What is not in
 * the dialect stays unchanged.
 *
 * Throws a `WireError` if the settings or an answer are invalid.
 */
export function rfcSendParams(
  params: JsonValue | undefined,
): JsonValue | undefined {
  const message = messageIn(params);
  if (!message || !isObject(params)) return params;
  const given = objectOrEmpty(message.metadata);
  const metadata = { ...given, ...ownSettings(given) };
  const parts = listOrEmpty(message.parts).map((part): JsonValue => {
    const data = isObject(part) ? part.data : undefined;
    if (!isObject(part) || !isObject(data) || !isAnswer(part)) return part;
    const content = {
      case: "confirmation",
      value: decodeConfirmation(data),
    } as const;
    const written = encodePart(create(PartSchema, { content }));
    if (!written) return part;
    return {
      ...objectOrEmpty(toJson(A2aPartSchema, written)),
      ...defined({ metadata: part.metadata }),
    };
  });
  return { ...params, message: { ...message, metadata, parts } };
}

/**
 * Returns the settings of the dialect as we have them. Throws a `WireError` for
 * those that are ours and not the dialect's, and for both at once: one of them
 * would be ignored.
 */
function ownSettings(metadata: JsonObject): JsonObject {
  const settings = coderAgentMetadata(metadata);
  if (!settings) return {};
  const { workspacePath: _path, ...others } = settings;
  assertNoSettings(others, `message.metadata.${CODER_AGENT_KEY}`);
  const own = settingsMetadata(
    settingsFromGeminiCli(decodeRfcJson(AgentSettingsSchema, settings)),
  );
  const twice = Object.keys(own).find((key) => key in metadata);
  if (twice === undefined) return own;
  const problem = `stands beside ${CODER_AGENT_KEY}, which sets the same: leave out one of them, or autoExecute`;
  throw new WireError("message.metadata", quote(twice), problem);
}

function isAnswer(part: JsonValue): boolean {
  if (!isObject(part) || part.kind !== "data" || !isObject(part.data)) {
    return false;
  }
  return (
    typeof part.data.callId === "string" &&
    typeof part.data.outcome === "string"
  );
}

function messageIn(params: JsonValue | undefined): JsonObject | undefined {
  const message = isObject(params) ? params.message : undefined;
  return isObject(message) ? message : undefined;
}
