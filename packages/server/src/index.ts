// The public names of @devtool/server, one by one. Adding a name is adding API.
export type { AgentEvent, AgentExecutor, Turn, TurnEnd } from "./agent/agent-executor.ts";
export { type GeminiOptions, geminiOptionsFrom } from "./agent/gemini/gemini-options.ts";
export type { Model, ModelEvent, ModelRequest, ModelToolCall } from "./agent/model.ts";
export { createScriptedModel } from "./agent/scripted/scripted-model.ts";
export { Code, DevtoolError } from "./errors.ts";
export { createServer, type DevtoolServer } from "./server.ts";
export type { A2aOptions, About, ServerLimits, ServerOptions } from "./server-options.ts";
export { type AuditVerdict, verifyAudit } from "./store/audit-chain.ts";
export type { McpAuthorization } from "./tool/mcp/mcp-transport.ts";
export { VERSION } from "./version.ts";
