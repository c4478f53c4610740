// The dialect of Gemini CLI's own A2A server and its clients.

export { decodeCommandList, encodeCommandList } from "./gemini-cli/commands.ts";
export { decodeGeminiCliFrame } from "./gemini-cli/decode-frame.ts";
export {
  encodeGeminiCliSend,
  isGeminiCliSend,
  rfcSendParams,
} from "./gemini-cli/send-params.ts";
export {
  encodeGeminiCliSettings,
  settingsFromGeminiCli,
} from "./gemini-cli/settings.ts";
export { encodeGeminiCliFrame } from "./gemini-cli/stream-frame.ts";
export {
  decodeGeminiCliTask,
  encodeGeminiCliState,
  encodeGeminiCliTask,
} from "./gemini-cli/task.ts";
export {
  CreateTaskRequestSchema,
  ErrorResponseSchema,
  ExecuteCommandRequestSchema,
  ExecuteCommandResponseSchema,
  type TaskInfo,
  TaskInfoSchema,
  type ToolInfo,
  ToolInfoSchema,
} from "./gen/devtool/coder_agent/v1alpha/http_pb.ts";
export {
  type AgentSettings as GeminiCliSettings,
  AgentSettingsSchema as GeminiCliSettingsSchema,
} from "./gen/devtool/coder_agent/v1alpha/stream_pb.ts";
