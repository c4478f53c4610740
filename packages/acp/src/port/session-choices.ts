import { create } from "@bufbuild/protobuf";
import {
  AgentSettingsSchema,
  ApprovalMode,
  type McpServer,
  type SendMessageRequest,
  SessionSettingsSchema,
} from "@devtool/schema";
import type { Conversation } from "./conversation.ts";
import { isFollowed, type PortAgent } from "./port.ts";

/** The values that a client chose for a session. */
export interface SessionChoices {
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  readonly agent: string;
  readonly model: string;
  readonly approvalMode: ApprovalMode;
}

/** The settings that a message or a command carries. */
export type MessageSettings = Pick<
  Partial<SendMessageRequest>,
  "settings" | "sessionSettings"
>;

/** Whether the next message of a conversation may bring an MCP server. */
export function lacksServer(
  { isStarted, servers }: Conversation,
  agent: PortAgent,
  { name }: McpServer,
): boolean {
  if (!isStarted) return isFollowed(agent, "mcp_servers");
  return isFollowed(agent, "added_mcp_servers") && !servers.has(name);
}

/**
 * Returns the settings that go with the next message of a conversation: all of
 * them with its first, and later only MCP servers to add, the model and an
 * approval mode that differs from the present one.
 *
 * @param workspace the workspace of the server; undefined for its default
 */
export function settingsFor(
  conversation: Conversation,
  choices: SessionChoices,
  agent: PortAgent,
  workspace: string | undefined,
): MessageSettings {
  const { isStarted, approvalMode: current } = conversation;
  const { model, approvalMode } = choices;
  const mcpServers = choices.mcpServers.filter((server) =>
    lacksServer(conversation, agent, server),
  );
  if (!isStarted) {
    if (!agent.hasExtension) return {};
    const sessionSettings = create(SessionSettingsSchema, {
      mcpServers,
      agent: choices.agent,
      model,
      approvalMode,
    });
    if (workspace === undefined) return { sessionSettings };
    return {
      settings: create(AgentSettingsSchema, { workspacePath: workspace }),
      sessionSettings,
    };
  }
  const isReset =
    approvalMode === ApprovalMode.UNSPECIFIED &&
    current !== ApprovalMode.UNSPECIFIED;
  // Of a mode that is wider than the operator's, the operator's counts.
  const wanted = isReset ? ApprovalMode.YOLO : approvalMode;
  const isSame = wanted === current;
  if (model === "" && isSame && mcpServers.length === 0) return {};
  const changes = {
    model,
    mcpServers,
    approvalMode: isSame ? ApprovalMode.UNSPECIFIED : wanted,
  };
  return { sessionSettings: create(SessionSettingsSchema, changes) };
}
