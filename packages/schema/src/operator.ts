// The names of @devtool/schema/operator: for the command, which is a
// bundle. Not part of the published package.

export {
  type AcpRegistryAgent,
  AcpRegistryAgentSchema,
} from "./gen/devtool/v1alpha/acp_registry_pb.ts";
export type { ListedModel } from "./gen/devtool/v1alpha/agent_list_service_pb.ts";
export type {
  JwtConfig,
  RoleConfig,
  TlsConfig,
} from "./gen/devtool/v1alpha/authentication_pb.ts";
export {
  type ServerInfo,
  ServerInfoSchema,
  TokenFileSchema,
} from "./gen/devtool/v1alpha/discovery_pb.ts";
export {
  type LogLine,
  LogLineSchema,
} from "./gen/devtool/v1alpha/log_line_pb.ts";
export { PolicyExplanationSchema } from "./gen/devtool/v1alpha/policy_file_pb.ts";
export {
  ClientMcpServers,
  LogFormat,
  LogLevel,
  type ModelConfig,
  ModelConfigSchema,
  SandboxKind,
  type ServerConfig,
  ServerConfigSchema,
} from "./gen/devtool/v1alpha/server_config_pb.ts";
