import { create } from "@bufbuild/protobuf";
import { decodeSentMessage } from "../a2a-v03/message.ts";
import { decodeMessageSettings } from "../a2a-v03/message-settings.ts";
import { sentEnvelope } from "../a2a-v03/send-params.ts";
import { decodeRequestSettings } from "../a2a-v03/settings.ts";
import {
  type SendMessageRequest as OwnRequest,
  SendMessageRequestSchema as OwnRequestSchema,
} from "../gen/devtool/v1alpha/task_service_pb.ts";
import {
  Role as A2aRole,
  type SendMessageRequest,
  SendMessageRequestSchema,
} from "../gen/lf/a2a/v1/a2a_pb.ts";
import { missing, WireError } from "../wire-error.ts";
import { messageFromV03, messageToV03 } from "./message.ts";
import { pushConfigToA2a } from "./push-config.ts";

/** Converts a request to send a message to one of A2A 1.0. */
export function sendRequestToA2a(request: OwnRequest): SendMessageRequest {
  const { message, returnImmediately, pushConfig } = request;
  return create(SendMessageRequestSchema, {
    message: messageFromV03(sentEnvelope(request)),
    configuration: {
      returnImmediately,
      acceptedOutputModes: message?.acceptedOutputModes ?? [],
      taskPushNotificationConfig: pushConfig && pushConfigToA2a(pushConfig),
    },
  });
}

/**
 * Converts a request of A2A 1.0 to send a message to ours. Settings may be in
 * the metadata of the request or of the message.
 */
export function sendRequestFromA2a({
  message,
  configuration,
  metadata,
}: SendMessageRequest): OwnRequest {
  if (!message) throw missing("message");
  const envelope = messageToV03(message, "message");
  if (message.role !== A2aRole.USER) {
    throw new WireError(
      "message.role",
      `ROLE_${A2aRole[message.role] ?? message.role}`,
      "must be ROLE_USER in what a client sends",
    );
  }
  const places = [
    { metadata: message.metadata, path: "message.metadata" },
    { metadata, path: "metadata" },
  ];
  const settings = decodeRequestSettings(places);
  return create(OwnRequestSchema, {
    message: {
      ...decodeSentMessage(envelope, "message"),
      // Stored as it was sent, including the settings.
      metadata: message.metadata,
      model: settings.sessionSettings?.model ?? "",
      acceptedOutputModes: configuration?.acceptedOutputModes ?? [],
    },
    taskId: message.taskId,
    contextId: message.contextId,
    returnImmediately: configuration?.returnImmediately ?? false,
    ...settings,
    ...decodeMessageSettings(places),
  });
}
