// The public names of @devtool/server. Each name added here becomes public API.

export type { Agent } from "./agent/agent.ts";
export type {
  AgentEvent,
  AgentExecutor,
  Turn,
} from "./agent/agent-executor.ts";
export { defaultDialects } from "./assembly/default-dialects.ts";
export { Code, DevtoolError } from "./errors.ts";
export type { Observer, Operation } from "./observer.ts";
export { createHandler, createServer, type DevtoolServer } from "./server.ts";
export type { ServerOptions, ServerSettings } from "./server-options.ts";
export { verifyAudit } from "./store/verify-audit.ts";
export { a2a } from "./transport/a2a.ts";
export { connect } from "./transport/connect/routes.ts";
export { VERSION } from "./version.ts";
