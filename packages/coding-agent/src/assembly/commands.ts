import {
  type AgentConversations,
  type CommandPlace,
  VERSION,
} from "@devtool/server/agent";
import { compress } from "../agent/compress.ts";
import type { AgentModel } from "../agent/model.ts";
import { withoutQuestions } from "../agent/questions.ts";
import { builtinCommands } from "../command/builtin/builtin-commands.ts";
import { createCommandFiles } from "../command/files/command-files.ts";
import { createPromptCommands } from "../command/prompt-commands.ts";
import type { Conversations } from "../command/services.ts";
import { SlashCommands } from "../command/slash-commands.ts";
import type { McpSession } from "../tool/mcp.ts";
import type { AgentHost } from "./host.ts";

/**
 * Creates the slash commands of an agent: the built-in ones, command files, and
 * the prompts of MCP servers.
 */
export function createSlashCommands(
  host: AgentHost,
  conversations: Conversations,
): SlashCommands {
  const { mcp, trust } = host;
  const { model, services } = host.dependencies;
  const { onNotice } = services;
  const builtin = builtinCommands({
    version: VERSION,
    model: model.name,
    prose: model.maxInputTokens === undefined ? undefined : model,
    loadMemory: (place) => host.loadMemory(place),
    trust,
    operator: services.operator,
    conversations,
    mcp: {
      list: async (place, signal) =>
        mcp?.status(mcpSession(place), signal) ?? [],
      refresh: async (place, signal) => mcp?.refresh(mcpSession(place), signal),
    },
    ide: host.dependencies.options.ide && host.ide,
    policies: { list: (context) => host.listRules(context) },
    checkpoints: host.checkpoints,
  });
  const sources = [createCommandFiles({ trust, model, onNotice })];
  if (mcp) {
    const servers = {
      prompts: (place: CommandPlace, signal: AbortSignal) =>
        mcp.prompts(mcpSession(place), signal),
    };
    sources.push(createPromptCommands({ servers, model, onNotice }));
  }
  return new SlashCommands(builtin, sources, onNotice);
}

/** The MCP servers of a conversation: the operator's and those of its client. */
function mcpSession({
  principal,
  roles,
  workspacePath,
  sessionSettings,
}: CommandPlace): McpSession {
  const clientServers = sessionSettings?.mcpServers ?? [];
  return { principal, roles, workspacePath, clientServers };
}

/**
 * Gives commands access to the conversations of a server. The agent's model
 * writes the summaries.
 */
export function createConversations(
  { find, tasks, summarize, spending }: AgentConversations,
  model: AgentModel,
): Conversations {
  return {
    find,
    tasks,
    spending,
    async compress(taskId, asked, signal) {
      let messageCount = 0;
      const summary = await summarize(taskId, async ({ history, settings }) => {
        messageCount = history.length;
        const request = {
          ...asked,
          history: withoutQuestions(history),
          workspacePath: settings?.workspacePath ?? "",
        };
        return compress(model, request, signal);
      });
      return summary ? messageCount - summary.keptMessages : 0;
    },
  };
}
