/**
 * The entry `@devtool/coding-agent/tool`: the seams of tools and of MCP
 * servers, and functions that create tools.
 */
export type { ToolFacts } from "@devtool/policy";
export { defineTool, type ToolDefinition } from "./tool/define-tool.ts";
export type {
  Mcp,
  McpPrompt,
  McpPromptMessage,
  McpServerStatus,
  McpServices,
  McpSession,
  OpenMcp,
  Sample,
  SampleRequest,
  SampleResponse,
} from "./tool/mcp.ts";
export type {
  Answer,
  Question,
  Tool,
  ToolDeclaration,
  ToolEvent,
  ToolInvocation,
  ToolResult,
} from "./tool/tool.ts";
export { type ToolArgs, toolArgs } from "./tool/tool-args.ts";
export { failureResult, textResult } from "./tool/tool-result.ts";
