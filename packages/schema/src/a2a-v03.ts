// A2A 0.3: its messages, and the conversion of tasks and events.

export {
  decodeCommandPlace,
  decodeCommandRun,
} from "./a2a-v03/command-params.ts";
export { decodeJsonRpcRequest, JsonRpcCode } from "./a2a-v03/json-rpc.ts";
export { encodeReply } from "./a2a-v03/message.ts";
export {
  extensionMetadata,
  sessionMetadata,
  taskEventMetadata,
} from "./a2a-v03/metadata.ts";
export { neededMessages } from "./a2a-v03/needed-messages.ts";
export {
  decodePushConfig,
  decodePushConfigParams,
  encodePushConfig,
} from "./a2a-v03/push-config.ts";
export { findReplay, withReplay } from "./a2a-v03/replay.ts";
export { errorFromRest, errorToRest } from "./a2a-v03/rest/error.ts";
export type { RestCall, RestOperation } from "./a2a-v03/rest/operation.ts";
export { REST_OPERATIONS, restOperation } from "./a2a-v03/rest/operations.ts";
export {
  decodeMessageSend,
  encodeMessageSend,
} from "./a2a-v03/send-params.ts";
export { decodeState } from "./a2a-v03/state.ts";
export {
  decodeStreamFrame,
  encodeStreamFrame,
  streamFrameEncoder,
} from "./a2a-v03/stream-frame.ts";
export {
  decodeTask,
  encodeTask,
} from "./a2a-v03/task.ts";
export { decodeOwnFields, settingsMetadata } from "./a2a-v03/task-metadata.ts";
export {
  decodeTaskId,
  decodeTaskList,
  decodeTaskQuery,
  decodeWithdrawal,
} from "./a2a-v03/task-params.ts";
export type { StreamView } from "./extension.ts";
export {
  type AgentCard,
  AgentCardSchema,
  type AgentSkill,
  AgentSkillSchema,
} from "./gen/devtool/a2a/v1alpha/agent_card_pb.ts";
export {
  AgentService,
  json_rpc_method,
} from "./gen/devtool/a2a/v1alpha/agent_service_pb.ts";
export {
  type JsonRpcError,
  JsonRpcErrorSchema,
  JsonRpcResponseSchema,
} from "./gen/devtool/a2a/v1alpha/envelope_pb.ts";
