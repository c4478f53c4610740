// The public names of @devtool/server/agent: the seam between a server and its
// agents, and code that agents share with it.

export type {
  Agent,
  AgentCommands,
  AgentConversations,
  AgentServices,
  CardExtension,
  CommandContext,
  CommandPlace,
  ConversationKey,
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
  OfferedMcpServer,
  OfferedModel,
  OfferedTool,
} from "./agent/agent-offers.ts";
export type { AgentWorkspace } from "./agent/agent-workspace.ts";
export { type CallUpdate, changedDetail } from "./agent/call-update.ts";
export { Confirmations } from "./agent/confirmations.ts";
export { type FailureType, toolFailure } from "./agent/failure.ts";
export { pageAddress } from "./agent/page-address.ts";
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
export { failpoint } from "./failpoint.ts";
export { isInside } from "./files/real-path.ts";
export { replaceFile } from "./files/replace-file.ts";
export { assertWorkspaceInPlace } from "./files/workspace-roots.ts";
export type { OperationEnd } from "./observer.ts";
export { isOtherProcess } from "./other-process.ts";
export { checkedFetch } from "./outbound/checked-fetch.ts";
export {
  guardedFetch,
  type OutboundResponse,
} from "./outbound/guarded-fetch.ts";
export {
  assertTarget,
  type OutboundPolicy,
  parseTarget,
} from "./outbound/outbound-policy.ts";
export { abortable } from "./stream/abortable.ts";
export { Arrivals } from "./stream/arrivals.ts";
export { type JsonLine, JsonLines } from "./stream/json-lines.ts";
export { LineReader } from "./stream/line-reader.ts";
export { loadOnce } from "./stream/load-once.ts";
export { mergeReady } from "./stream/merge.ts";
export { Semaphore } from "./stream/semaphore.ts";
export {
  inheritedEnvironment,
  type StdioCommand,
  StdioProcess,
} from "./stream/stdio-process.ts";
export { VERSION } from "./version.ts";
