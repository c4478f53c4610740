// The public names of @devtool/server/agent: the seam between a server and its
// agents, and code that agents share with it.

export { LineReader } from "@devtool/internal/line-reader";
export type {
  Agent,
  AgentCommands,
  AgentConversations,
  AgentServices,
  CommandContext,
  CommandPlace,
  OpenAgent,
  Skill,
} from "./agent/agent.ts";
export type {
  AgentEvent,
  AgentExecutor,
  ArgumentsEdit,
  Turn,
  TurnEnd,
} from "./agent/agent-executor.ts";
export type {
  AgentOffers,
  OfferedModel,
} from "./agent/agent-offers.ts";
export type { AgentWorkspace } from "./agent/agent-workspace.ts";
export { type CallUpdate, changedDetail } from "./agent/call-update.ts";
export { Confirmations } from "./agent/confirmations.ts";
export {
  ANSWERED,
  CANCELLED,
  type CallEnd,
  ExternalCall,
  type ExternalCallSource,
  failedCall,
} from "./agent/external-call.ts";
export { type FailureType, toolFailure } from "./agent/failure.ts";
export type { GoalChecks } from "./agent/goal-checks.ts";
export {
  type IdeContexts,
  ideContextText,
  tellIdeContext,
} from "./agent/ide-context.ts";
export type {
  ApprovalBasis,
  PermissionDecision,
  PermissionPolicy,
  PermissionRequest,
} from "./agent/permission.ts";
export { PieceJoiner } from "./agent/piece-joiner.ts";
export { turnDirectory } from "./agent/turn-directory.ts";
export {
  Code,
  DevtoolError,
  type ErrorOptions,
  invalid,
  quoted,
} from "./errors.ts";
export { assertWorkspaceInPlace } from "./files/workspace-roots.ts";
export type { OperationEnd } from "./observer.ts";
export { checkedFetch } from "./outbound/checked-fetch.ts";
export { guardedFetch } from "./outbound/guarded-fetch.ts";
export {
  assertTarget,
  type OutboundPolicy,
  parseTarget,
} from "./outbound/outbound-policy.ts";
export {
  inheritedEnvironment,
  type StdioCommand,
  StdioProcess,
} from "./stream/stdio-process.ts";
export { VERSION } from "./version.ts";
