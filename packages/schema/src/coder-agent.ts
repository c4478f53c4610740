// The dialect of Gemini CLI's own A2A server and its clients.

export { decodeCommandList, encodeCommandList } from "./coder-agent/commands.ts";
export { decodeCoderAgentFrame } from "./coder-agent/decode-frame.ts";
export { encodeCoderAgentSend, isCoderAgentSend, rfcSendParams } from "./coder-agent/send-params.ts";
export {
  CODER_AGENT_KEY,
  coderAgentMetadata,
  encodeCoderAgentSettings,
  settingsOf,
} from "./coder-agent/settings.ts";
export { encodeCoderAgentState } from "./coder-agent/state.ts";
export { encodeCoderAgentFrame } from "./coder-agent/stream-frame.ts";
export { decodeCoderAgentTask, encodeCoderAgentTask } from "./coder-agent/task.ts";
export {
  CreateTaskRequestSchema,
  ErrorResponseSchema,
  ExecuteCommandRequestSchema,
  type ExecuteCommandResponse,
  ExecuteCommandResponseSchema,
  type TaskInfo,
  TaskInfoSchema,
} from "./gen/devtool/coder_agent/v1alpha/http_pb.ts";
export {
  type AgentSettings as CoderAgentSettings,
  AgentSettingsSchema as CoderAgentSettingsSchema,
} from "./gen/devtool/coder_agent/v1alpha/stream_pb.ts";
