import { describeRule } from "@devtool/policy";
import { type CommandPlace, VERSION } from "@devtool/server/agent";
import { builtinCommands } from "../command/builtin/builtin-commands.ts";
import { createCommandFiles } from "../command/files/command-files.ts";
import { createPromptCommands, type PromptServers } from "../command/prompt-commands.ts";
import type { Conversations, McpStatus, Policies } from "../command/services.ts";
import { SlashCommands } from "../command/slash-commands.ts";
import type { McpSession, OpenMcp } from "../tool/mcp.ts";
import type { AgentHost } from "./host.ts";

/** The slash commands of a server: its own, those of the workspace's command files, and the prompts of MCP servers. */
export function createSlashCommands(host: AgentHost, conversations: Conversations): SlashCommands {
  const { mcp, shared } = host;
  const { model, services } = shared;
  const { onNotice } = services;
  const own = builtinCommands({
    version: VERSION,
    model: model.name,
    ...(model.maxInputTokens !== undefined && { prose: model }),
    loadMemory: (place) => host.memoryOf(place),
    trust: host.trust,
    operator: services.operator,
    conversations,
    mcp: mcpStatus(mcp),
    policies: policiesOf(host),
    ...(host.checkpoints && { checkpoints: host.checkpoints }),
  });
  const sources = [
    createCommandFiles({ trust: host.trust, model, onNotice }),
    ...(mcp ? [createPromptCommands({ servers: promptServers(mcp), model, onNotice })] : []),
  ];
  return new SlashCommands(own, sources, onNotice);
}

/** The status of the MCP servers; an agent that was made without has none. */
function mcpStatus(mcp: OpenMcp | undefined): McpStatus {
  return {
    list: async (place, signal) => mcp?.status(sessionIn(place), signal) ?? [],
    refresh: async (place, signal) => mcp?.refresh(sessionIn(place), signal),
  };
}

function promptServers(mcp: OpenMcp): PromptServers {
  return { prompts: (place, signal) => mcp.prompts(sessionIn(place), signal) };
}

/** Whose MCP servers commands see: the operator's alone, since commands are not of a session. */
function sessionIn({ principal, workspacePath }: CommandPlace): McpSession {
  return { principal, workspacePath, clientServers: [] };
}

function policiesOf(host: AgentHost): Policies {
  return {
    list: async ({ principal }) =>
      [...(host.savedOf(principal)?.rules ?? []), ...host.rulesFor(principal)].map(({ rule, label, decision }) => ({
        name: label,
        decision,
        description: describeRule(rule),
      })),
  };
}
