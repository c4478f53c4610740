// The public names of @devtool/server. Each name added here becomes public API.

export type {
  About,
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
  Summarized,
} from "./agent/agent.ts";
export type {
  AgentCall,
  CallOutcome,
  CallOutput,
  CallQuestion,
} from "./agent/agent-call.ts";
export type {
  AgentEvent,
  AgentExecutor,
  ArgumentsEdit,
  Turn,
  TurnEnd,
  TurnNews,
} from "./agent/agent-executor.ts";
export { a2a } from "./assembly/a2a.ts";
export { defaultDialects } from "./assembly/default-dialects.ts";
export { Code, DevtoolError } from "./errors.ts";
export type {
  Observer,
  Operation,
  OperationEnd,
  OperationKind,
} from "./observer.ts";
export {
  createHandler,
  createServer,
  type DevtoolHandler,
  type DevtoolServer,
} from "./server.ts";
export type {
  AuthenticationSettings,
  HandlerOptions,
  ServerLimits,
  ServerOptions,
  ServerSettings,
} from "./server-options.ts";
export type { StaticSite, StaticSiteFile } from "./static-site.ts";
export { type AuditVerdict, verifyAudit } from "./store/audit-chain.ts";
export type { A2aOptions } from "./transport/a2a/a2a-options.ts";
export { connect } from "./transport/connect/routes.ts";
export { VERSION } from "./version.ts";
