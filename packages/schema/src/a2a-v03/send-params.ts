import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Message as A2aMessage, MessageSendParamsSchema } from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import type { PushConfig } from "../gen/devtool/v1alpha/push_service_pb.ts";
import { SessionSettingsSchema } from "../gen/devtool/v1alpha/session_settings_pb.ts";
import { type SendMessageRequest, SendMessageRequestSchema } from "../gen/devtool/v1alpha/task_service_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { confirmationsOf } from "../tool-call.ts";
import { quote, WireError } from "../wire-error.ts";
import { decodeMessage, encodeMessage } from "./message.ts";
import { extensionMetadata } from "./metadata.ts";
import { pushConfigOf, pushEnvelope } from "./push-config.ts";
import { decodeSettings, settingsMetadata } from "./task.ts";

/** What `message/send` and `message/stream` ask for. */
export interface MessageSend {
  readonly request: SendMessageRequest;
  /** The newest so many messages of history in the answer; all when undefined. */
  readonly historyLength: number | undefined;
  /** Where to post the task's events; undefined when nobody asked. */
  readonly pushConfig: PushConfig | undefined;
  /** Whether the message itself shows that its sender knows the extension (CARD-3). */
  readonly usesExtension: boolean;
}

/** Writes the parameters of `message/send` and `message/stream`. */
export function encodeMessageSend(request: SendMessageRequest): JsonObject {
  const { message, taskId, contextId, pushConfig } = request;
  if (!message) throw new WireError("message", "", "is missing");
  const answers = confirmationsOf(message).length > 0;
  const kind = answers ? Kind.TOOL_CALL_CONFIRMATION : Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
  const envelope = encodeMessage(message, kind, { taskId, contextId });
  const metadata = { ...(answers && envelope.metadata), ...settingsMetadata(withModel(request, message.model)) };
  return encodeRfcJson(
    MessageSendParamsSchema,
    create(MessageSendParamsSchema, {
      message: { ...envelope, metadata },
      configuration: {
        blocking: !request.returnImmediately,
        acceptedOutputModes: message.acceptedOutputModes,
        ...(pushConfig && { pushNotificationConfig: pushEnvelope(pushConfig) }),
      },
    }),
  );
}

/** The settings with the model that the message chose: A2A has one place for both. */
function withModel(request: SendMessageRequest, model: string): SendMessageRequest {
  if (model === "") return request;
  return { ...request, sessionSettings: { ...(request.sessionSettings ?? create(SessionSettingsSchema)), model } };
}

/** Reads the parameters of `message/send` and `message/stream`. Throws a `WireError` that names the field. */
export function decodeMessageSend(params: JsonValue | undefined): MessageSend {
  const { message, configuration } = decodeRfcJson(MessageSendParamsSchema, params ?? {});
  if (!message) throw new WireError("message", "", "is missing");
  const historyLength = configuration?.historyLength;
  if (historyLength !== undefined && historyLength < 0) {
    throw new WireError("configuration.historyLength", quote(historyLength), "must be 0 or more");
  }
  const push = configuration?.pushNotificationConfig;
  return {
    request: {
      ...requestOf(message, configuration?.acceptedOutputModes ?? []),
      returnImmediately: configuration?.blocking === false,
    },
    historyLength,
    pushConfig: push && pushConfigOf(message.taskId, push),
    usesExtension: extensionMetadata(message.metadata) !== undefined,
  };
}

function requestOf(message: A2aMessage, acceptedOutputModes: readonly string[]): SendMessageRequest {
  if (message.kind !== "" && message.kind !== "message") {
    throw new WireError("message.kind", quote(message.kind), 'must be "message"');
  }
  const settings = decodeSettings(message.metadata);
  return create(SendMessageRequestSchema, {
    message: {
      ...decodeMessage(message, "message"),
      model: settings.sessionSettings?.model ?? "",
      acceptedOutputModes: [...acceptedOutputModes],
    },
    taskId: message.taskId,
    contextId: message.contextId,
    ...settings,
  });
}
