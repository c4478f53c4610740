import { create } from "@bufbuild/protobuf";
import { decodeMessage, encodeMessage } from "../a2a-v03/message.ts";
import { decodeSettings, settingsMetadata } from "../a2a-v03/task.ts";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import { SessionSettingsSchema } from "../gen/devtool/v1alpha/session_settings_pb.ts";
import {
  type SendMessageRequest as OwnRequest,
  SendMessageRequestSchema as OwnRequestSchema,
} from "../gen/devtool/v1alpha/task_service_pb.ts";
import { type SendMessageRequest, SendMessageRequestSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { confirmationsOf } from "../tool-call.ts";
import { WireError } from "../wire-error.ts";
import { messageFromV03, messageToV03 } from "./message.ts";
import { pushConfigToA2a } from "./push-config.ts";

/** Writes what asks to send a message as A2A 1.0 has it. */
export function sendRequestToA2a(request: OwnRequest): SendMessageRequest {
  const { message, taskId, contextId, returnImmediately, pushConfig } = request;
  if (!message) throw new WireError("message", "", "is missing");
  const answers = confirmationsOf(message).length > 0;
  const kind = answers ? Kind.TOOL_CALL_CONFIRMATION : Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
  const envelope = encodeMessage(message, kind, { taskId, contextId });
  const metadata = { ...(answers && envelope.metadata), ...settingsMetadata(withModel(request, message.model)) };
  return create(SendMessageRequestSchema, {
    message: messageFromV03({ ...envelope, metadata }),
    configuration: {
      returnImmediately,
      acceptedOutputModes: message.acceptedOutputModes,
      ...(pushConfig && { taskPushNotificationConfig: pushConfigToA2a(pushConfig) }),
    },
  });
}

/** The settings with the model that the message chose: A2A has one place for both. */
function withModel(request: OwnRequest, model: string): OwnRequest {
  if (model === "") return request;
  return { ...request, sessionSettings: { ...(request.sessionSettings ?? create(SessionSettingsSchema)), model } };
}

/** Reads what asks to send a message; the metadata of the request counts where the message has none of its own. */
export function sendRequestFromA2a({ message, configuration, metadata }: SendMessageRequest): OwnRequest {
  if (!message) throw new WireError("message", "", "is missing");
  const envelope = messageToV03(message, "message");
  const settings = decodeSettings({ ...metadata, ...message.metadata });
  return create(OwnRequestSchema, {
    message: {
      ...decodeMessage(envelope, "message"),
      model: settings.sessionSettings?.model ?? "",
      acceptedOutputModes: configuration?.acceptedOutputModes ?? [],
    },
    taskId: message.taskId,
    contextId: message.contextId,
    returnImmediately: configuration?.returnImmediately ?? false,
    ...settings,
  });
}
