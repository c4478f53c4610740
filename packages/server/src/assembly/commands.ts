import { builtinCommands } from "../command/builtin/builtin-commands.ts";
import { createCommandFiles } from "../command/files/command-files.ts";
import { createPromptCommands, type PromptServers } from "../command/prompt-commands.ts";
import type { Conversations, McpStatus, Policies } from "../command/services.ts";
import type { CommandPlace } from "../command/slash-command.ts";
import { SlashCommands } from "../command/slash-commands.ts";
import type { McpServers } from "../tool/mcp/mcp-servers.ts";
import { describeRule } from "../tool/policy/describe-rule.ts";
import { VERSION } from "../version.ts";
import type { AgentHost } from "./host.ts";

/** The slash commands of a server: its own, those of the workspace's command files, and the prompts of MCP servers. */
export function createSlashCommands(host: AgentHost, conversations: Conversations): SlashCommands {
  const { model } = host.shared;
  const own = builtinCommands({
    version: VERSION,
    model: model.name,
    ...(model.maxInputTokens !== undefined && { prose: model }),
    loadMemory: (workspacePath) => host.memoryOf(workspacePath),
    trust: host.trust,
    conversations,
    mcp: mcpStatus(host),
    policies: policiesOf(host),
    ...(host.checkpoints && { checkpoints: host.checkpoints }),
  });
  return new SlashCommands(own, [
    createCommandFiles({ trust: host.trust, model }),
    createPromptCommands({ servers: promptServers(host), model }),
  ]);
}

/** The operator's MCP servers in a workspace: commands are not of a session, so they see no client's. */
async function serversIn(host: AgentHost, { workspacePath, principal }: CommandPlace): Promise<McpServers | undefined> {
  const servers = host.serversOf({});
  if (servers.length === 0) return undefined;
  return host.mcp.get({ principal, workspacePath, servers });
}

function mcpStatus(host: AgentHost): McpStatus {
  return {
    async list(place, signal) {
      const servers = await serversIn(host, place);
      await servers?.tools(signal);
      return servers?.status() ?? [];
    },
    async refresh(place, signal) {
      await (await serversIn(host, place))?.refresh(signal);
    },
  };
}

function promptServers(host: AgentHost): PromptServers {
  return { prompts: async (place, signal) => (await serversIn(host, place))?.prompts(signal) ?? [] };
}

function policiesOf(host: AgentHost): Policies {
  return {
    list: async () =>
      [...(host.saved?.rules ?? []), ...host.rules].map(({ rule, label, decision }) => ({
        name: label,
        decision,
        description: describeRule(rule),
      })),
  };
}
