import type { Task } from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import type { Conversations } from "../command/services.ts";
import type { SlashCommands } from "../command/slash-commands.ts";
import { createSlashCommands } from "./commands.ts";
import { AgentHost, type AgentHostOptions } from "./host.ts";
import { createTaskAgent } from "./task-agent.ts";

/** Our agents and slash commands, with all that they share. */
export interface Agents extends AsyncDisposable {
  readonly commands: SlashCommands;
  /** Makes the agent of a task. */
  createAgent(task: Task): AgentExecutor;
}

/** Opens what agents share. Throws a `DevtoolError` for a policy file that cannot be used. */
export async function openAgents(options: AgentHostOptions, conversations: Conversations): Promise<Agents> {
  const host = await AgentHost.open(options);
  // Who asked for a sandbox by name wants none to start without it.
  if (options.options.sandbox === "bwrap") await host.sandbox();
  const commands = createSlashCommands(host, conversations);
  return {
    commands,
    createAgent: (task) => createTaskAgent(host, commands, task),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}
