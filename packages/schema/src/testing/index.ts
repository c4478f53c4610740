// The names of @devtool/schema/testing: internals for tests of this repository.
// Not part of the published package.

export { REPLAY_URI, TASK_EVENT_URI } from "../extension.ts";
export type { OpenSessionResponse } from "../gen/devtool/codex/v1alpha/session_service_pb.ts";
export { SubmissionSchema } from "../gen/devtool/codex/v1alpha/submission_pb.ts";
export { ListedModelSchema } from "../gen/devtool/v1alpha/agent_list_service_pb.ts";
export {
  AuthenticationConfigSchema,
  JwtConfigSchema,
  TlsConfigSchema,
} from "../gen/devtool/v1alpha/authentication_pb.ts";
export {
  McpHttpSchema,
  McpStdioSchema,
} from "../gen/devtool/v1alpha/mcp_server_pb.ts";
export {
  AgentCallsConfigSchema,
  AgentConfigSchema,
  AgentRegistryConfigSchema,
  ConsoleConfigSchema,
  LogConfigSchema,
  MetricsConfigSchema,
  RemoteAgentConfigSchema,
  RetentionConfigSchema,
  StoreConfigSchema,
  TelemetryConfigSchema,
} from "../gen/devtool/v1alpha/server_config_pb.ts";
export { TurnSettingsSchema } from "../gen/devtool/v1alpha/turn_settings_pb.ts";
export { method_signature as methodSignature } from "../gen/google/api/client_pb.ts";
export { HttpRuleSchema } from "../gen/google/api/http_pb.ts";
export { ServerReflectionRequestSchema } from "../gen/grpc/reflection/v1/reflection_pb.ts";
export { Role as A2aRole } from "../gen/lf/a2a/v1/a2a_pb.ts";
export { isStatusMove } from "../tool-call.ts";
