// A2A 1.0: its messages, and the conversion of tasks and events.

export { agentCardFromV03 } from "./a2a-v1/agent-card.ts";
export { canonicalCard } from "./a2a-v1/canonical-card.ts";
export { frameFromA2a } from "./a2a-v1/frame.ts";
export {
  type HttpCall,
  httpCallOf,
  requestJson,
} from "./a2a-v1/http-request.ts";
export { type HttpBinding, httpBindingsOf } from "./a2a-v1/http-rule.ts";
export { decodeA2aJson, encodeA2aJson } from "./a2a-v1/json.ts";
export { pushConfigFromA2a, pushConfigToA2a } from "./a2a-v1/push-config.ts";
export { missingFields } from "./a2a-v1/required.ts";
export { sendRequestFromA2a, sendRequestToA2a } from "./a2a-v1/send-request.ts";
export { stateFromA2a, stateToA2a } from "./a2a-v1/state.ts";
export { replyToA2a, streamResponseOf } from "./a2a-v1/stream-response.ts";
export { taskToA2a } from "./a2a-v1/task.ts";
export { MessageQueueService } from "./gen/devtool/queue/v1alpha/message_queue_service_pb.ts";
export { http as httpRule } from "./gen/google/api/annotations_pb.ts";
export { field_behavior as fieldBehavior } from "./gen/google/api/field_behavior_pb.ts";
export {
  type BadRequest,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
} from "./gen/google/rpc/error_details_pb.ts";
export {
  A2AService,
  type AgentCard,
  AgentCardSchema,
  type AgentInterface,
  AgentInterfaceSchema,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  ListTaskPushNotificationConfigsResponseSchema,
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type Part as A2aPart,
  type SecurityRequirement,
  SecurityRequirementSchema,
  type SendMessageRequest as A2aSendMessageRequest,
  SendMessageRequestSchema as A2aSendMessageRequestSchema,
  type SendMessageResponse,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task as A2aTask,
  type TaskPushNotificationConfig,
  TaskSchema as A2aTaskSchema,
  TaskState as A2aTaskState,
} from "./gen/lf/a2a/v1/a2a_pb.ts";
