import {
  type Agent,
  type AgentServices,
  assertTarget,
  invalid,
  type OpenAgent,
  type Skill,
} from "@devtool/server/agent";
import { loopLimitsOf, withLoopGuard } from "./agent/loop-guard.ts";
import { createScriptedModel } from "./agent/scripted/scripted-model.ts";
import { createSlashCommands } from "./assembly/commands.ts";
import { createConversations } from "./assembly/conversations.ts";
import { AgentHost } from "./assembly/host.ts";
import { listOffers } from "./assembly/offers.ts";
import { createTaskAgent } from "./assembly/task-agent.ts";
import { type CodingAgentOptions, toolLimitsOf } from "./coding-agent-options.ts";
import { BUILTIN_TOOL_NAMES } from "./tool/builtin/builtin-tools.ts";
import { translateError } from "./tool/translate-error.ts";

/**
 * The coding agent: works in a workspace with files, commands and MCP servers, and asks before it changes anything.
 * It is opened by the server that gets it; one agent serves one server.
 *
 * Throws a `DevtoolError` for options that could not be meant so.
 */
export function codingAgent(options: CodingAgentOptions = {}): Agent {
  for (const target of options.fetchTargets ?? []) assertTarget("fetch_targets", target);
  assertTools(options);
  const model = withLoopGuard(options.model ?? createScriptedModel(), loopLimitsOf(options.loopLimits));
  return {
    about: {
      name: "devtool",
      description: "A coding agent that works in a workspace and asks before it changes anything.",
      skills: [CODING],
      ...(model.inputModes && { inputModes: ["text/plain", "application/json", ...model.inputModes] }),
    },
    model: model.name,
    takesMcpServers: options.mcp !== undefined,
    open: async (services) => {
      try {
        return await openCodingAgent({ ...options, model }, services);
      } catch (reason) {
        throw translateError(reason);
      }
    },
  };
}

const CODING: Skill = {
  id: "code",
  name: "Work on code",
  description: "Reads, searches, writes and runs code in a workspace, and asks before it changes anything.",
  tags: ["code", "shell", "files"],
  examples: ["Find the bug that makes the tests fail.", "Explain how the server starts."],
};

/** Throws for tools that no model could call, and for built-in ones that there are not. */
function assertTools({ tools = [], builtinTools = [] }: CodingAgentOptions): void {
  const names = tools.map(({ declaration }) => declaration.name);
  const wrong = names.find((name) => !/^\w{1,64}$/.test(name));
  if (wrong !== undefined) throw invalid("tools", wrong, "is not a name", "use up to 64 letters, digits and _");
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid("tools", twice, "is there twice", "leave one out");
  const unknown = builtinTools.find((name) => !BUILTIN_TOOL_NAMES.includes(name));
  if (unknown === undefined) return;
  throw invalid("builtin_tools", unknown, "does not exist", `choose ${BUILTIN_TOOL_NAMES.join(", ")}`);
}

/** Opens what the tasks share. Throws for a policy file or a sandbox that cannot be used. */
async function openCodingAgent(
  options: CodingAgentOptions & Required<Pick<CodingAgentOptions, "model">>,
  services: AgentServices,
): Promise<OpenAgent> {
  const { model } = options;
  const host = await AgentHost.open({
    options,
    services,
    model,
    limits: toolLimitsOf(options.toolLimits),
    environment: commandEnvironment(),
  });
  // An operator who names a sandbox wants no server that starts without it.
  if (options.sandbox === "bwrap") await host.sandbox();
  const commands = createSlashCommands(host, createConversations(services.conversations, model));
  return {
    commands,
    createExecutor: (task) => createTaskAgent(host, commands, task),
    offers: async (task, signal) => {
      try {
        return await listOffers(host, task, signal);
      } catch (reason) {
        throw translateError(reason);
      }
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** The variables of our environment that commands get: none that could hold a secret. */
function commandEnvironment(): Record<string, string> {
  const names = ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL"];
  const given = names.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(given);
}
