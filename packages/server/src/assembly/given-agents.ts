import type { Task } from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { SlashCommands } from "../command/slash-commands.ts";
import type { Agents } from "./agents.ts";

/** Agents that the host of the server brings: they have no slash commands, and nothing of ours is opened for them. */
export function givenAgents(createAgent: (task: Task) => AgentExecutor): Agents {
  return { commands: new SlashCommands([]), createAgent, [Symbol.asyncDispose]: () => Promise.resolve() };
}
