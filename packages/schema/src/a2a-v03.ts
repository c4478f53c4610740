// A2A 0.3: the envelope's messages, and how a task and its events are written in them.

export { decodeJsonRpcRequest, JsonRpcCode } from "./a2a-v03/json-rpc.ts";
export { extensionMetadata, sessionMetadata } from "./a2a-v03/metadata.ts";
export { decodePushConfig, decodePushConfigParams, encodePushConfig } from "./a2a-v03/push-config.ts";
export { encodeReply } from "./a2a-v03/reply.ts";
export { errorFromRest, errorToRest } from "./a2a-v03/rest/error.ts";
export {
  REST_OPERATIONS,
  type RestCall,
  type RestContent,
  type RestOperation,
  restOperation,
} from "./a2a-v03/rest/operation.ts";
export { decodeMessageSend, encodeMessageSend, type MessageSend } from "./a2a-v03/send-params.ts";
export { decodeState, encodeState } from "./a2a-v03/state.ts";
export { decodeStreamFrame, encodeStreamFrame } from "./a2a-v03/stream-frame.ts";
export { decodeSettings, decodeTask, type EncodeTaskOptions, encodeTask, settingsMetadata } from "./a2a-v03/task.ts";
export { decodeTaskId, decodeTaskQuery } from "./a2a-v03/task-params.ts";
export type { StreamView } from "./a2a-v03/view.ts";
export {
  type AgentCard,
  AgentCardSchema,
  type AgentExtension,
  type AgentSkill,
  AgentSkillSchema,
} from "./gen/devtool/a2a/v1alpha/agent_card_pb.ts";
export {
  type JsonRpcError,
  JsonRpcErrorSchema,
  type JsonRpcRequest,
  JsonRpcRequestSchema,
  type JsonRpcResponse,
  JsonRpcResponseSchema,
  type Message as A2aMessage,
  MessageSchema as A2aMessageSchema,
  type MessageSendParams,
  MessageSendParamsSchema,
  type Part as A2aPart,
  PartSchema as A2aPartSchema,
  type PushNotificationConfig,
  PushNotificationConfigSchema,
  type Task as A2aTask,
  TaskArtifactUpdateEventSchema,
  TaskIdParamsSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigParamsSchema,
  TaskPushNotificationConfigSchema,
  TaskQueryParamsSchema,
  TaskSchema as A2aTaskSchema,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "./gen/devtool/a2a/v1alpha/envelope_pb.ts";
