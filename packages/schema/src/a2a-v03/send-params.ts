import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import {
  type Message as A2aMessage,
  MessageSendParamsSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import type { PushConfig } from "../gen/devtool/v1alpha/push_service_pb.ts";
import { SessionSettingsSchema } from "../gen/devtool/v1alpha/session_settings_pb.ts";
import { Role } from "../gen/devtool/v1alpha/task_pb.ts";
import {
  type SendMessageRequest,
  SendMessageRequestSchema,
} from "../gen/devtool/v1alpha/task_service_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { confirmationsOf } from "../tool-call.ts";
import { missing, quote, WireError } from "../wire-error.ts";
import { decodeSentMessage, encodeMessage } from "./message.ts";
import { assertMessageForm } from "./message-form.ts";
import {
  decodeMessageSettings,
  messageSettingsMetadata,
} from "./message-settings.ts";
import { pushConfigOf, pushEnvelope } from "./push-config.ts";
import { decodeRequestSettings } from "./settings.ts";
import { metadataField, settingsMetadata } from "./task-metadata.ts";

/** Decoded parameters of `message/send` and `message/stream`. */
export interface MessageSend {
  readonly request: SendMessageRequest;
  /**
   * Maximum number of messages in the history of the response, newest kept.
   * Undefined returns those of the exchange (STREAM-9).
   */
  readonly historyLength: number | undefined;
  /** Where to post the events of the task. Undefined if nowhere. */
  readonly pushConfig: PushConfig | undefined;
}

/** Encodes the parameters of `message/send` and `message/stream`. */
export function encodeMessageSend(request: SendMessageRequest): JsonObject {
  const { message, returnImmediately, pushConfig } = request;
  return encodeRfcJson(
    MessageSendParamsSchema,
    create(MessageSendParamsSchema, {
      message: sentEnvelope(request),
      configuration: {
        blocking: !returnImmediately,
        acceptedOutputModes: message?.acceptedOutputModes ?? [],
        pushNotificationConfig: pushConfig && pushEnvelope(pushConfig),
      },
    }),
  );
}

/**
 * Encodes the message of a request, with the settings in its metadata. Throws a
 * `WireError` if the request has none.
 */
export function sentEnvelope(request: SendMessageRequest): A2aMessage {
  const { message, taskId, contextId, messageSettings } = request;
  if (!message) throw missing("message");
  const answers = confirmationsOf(message).length > 0;
  const kind = answers
    ? Kind.TOOL_CALL_CONFIRMATION
    : Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
  // A message from a client is the user's, even if it does not say so.
  const role = message.role || Role.USER;
  const envelope = encodeMessage({ ...message, role }, kind, {
    taskId,
    contextId,
  });
  // A2A has one place for the model of the message and that of the session.
  const session = request.sessionSettings ?? create(SessionSettingsSchema);
  const withModel =
    message.model === ""
      ? request
      : { ...request, sessionSettings: { ...session, model: message.model } };
  const settings = settingsMetadata(withModel);
  const metadata = {
    ...envelope.metadata,
    ...settings,
    ...messageSettingsMetadata(messageSettings),
  };
  return { ...envelope, ...metadataField(metadata) };
}

/**
 * Decodes the parameters of `message/send` and `message/stream`. Throws a
 * `WireError` that names the field.
 */
export function decodeMessageSend(params: JsonValue | undefined): MessageSend {
  if (isObject(params)) assertMessageForm(params, "0.3");
  // A2A 0.3 requires that the data of a part is an object. The error names the
  // remedy.
  for (const [index, json] of listOrEmpty(
    objectOrEmpty(objectOrEmpty(params).message).parts,
  ).entries()) {
    const { kind, data } = objectOrEmpty(json);
    if (kind !== "data" || data === undefined || isObject(data)) continue;
    const advice =
      'must be an object in A2A 0.3: send {"value": …} with data_part_compat in the metadata, or use A2A 1.0';
    throw new WireError(`message.parts[${index}].data`, quote(data), advice);
  }
  const { message, configuration, metadata } = decodeRfcJson(
    MessageSendParamsSchema,
    params ?? {},
  );
  if (!message) throw missing("message");
  const historyLength = configuration?.historyLength;
  if (historyLength !== undefined && historyLength < 0) {
    throw new WireError(
      "configuration.historyLength",
      quote(historyLength),
      "must be 0 or more",
    );
  }
  const push = configuration?.pushNotificationConfig;
  return {
    request: {
      ...requestFromMessage(
        message,
        configuration?.acceptedOutputModes ?? [],
        metadata,
      ),
      returnImmediately: configuration?.blocking === false,
    },
    historyLength,
    pushConfig: push && pushConfigOf(message.taskId, push),
  };
}

function requestFromMessage(
  message: A2aMessage,
  acceptedOutputModes: readonly string[],
  metadata: JsonObject | undefined,
): SendMessageRequest {
  if (message.kind !== "" && message.kind !== "message") {
    throw new WireError(
      "message.kind",
      quote(message.kind),
      'must be "message"',
    );
  }
  if (message.role !== "user") {
    throw new WireError(
      "message.role",
      quote(message.role),
      'must be "user" in what a client sends',
    );
  }
  const places = [
    { metadata: message.metadata, path: "message.metadata" },
    { metadata, path: "metadata" },
  ];
  const settings = decodeRequestSettings(places);
  return create(SendMessageRequestSchema, {
    message: {
      ...decodeSentMessage(message, "message"),
      // Stored as it was sent, including the settings.
      metadata: message.metadata,
      model: settings.sessionSettings?.model ?? "",
      acceptedOutputModes: [...acceptedOutputModes],
    },
    taskId: message.taskId,
    contextId: message.contextId,
    ...settings,
    ...decodeMessageSettings(places),
  });
}
