export { acpAgent } from "./agent/acp-agent.ts";
export type {
  AcpAgentOptions,
  AcpCommand,
  AcpConnect,
  AcpLimits,
  AcpPipe,
  ClientMethods,
  PermissionDecision,
  PermissionPolicy,
  PermissionRequest,
} from "./agent/acp-agent-options.ts";
