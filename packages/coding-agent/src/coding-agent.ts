import { defined } from "@devtool/internal/json";
import { MODIFIED_ARGUMENTS_URI, SHOWN_DIGEST_URI } from "@devtool/schema";
import {
  type Agent,
  type AgentServices,
  assertTarget,
  DevtoolError,
  inheritedEnvironment,
  invalid,
  type OpenAgent,
  type Skill,
} from "@devtool/server/agent";
import { DEFAULT_LOOP_LIMITS, withLoopGuard } from "./agent/loop-guard.ts";
import type { Model } from "./agent/model.ts";
import { ModelFault } from "./agent/remote/model-fault.ts";
import { createScriptedModel } from "./agent/scripted/scripted-model.ts";
import { stepModel } from "./agent/step-model.ts";
import { calledAgents } from "./assembly/agent-tools.ts";
import { agentWorkspace } from "./assembly/agent-workspace.ts";
import {
  createConversations,
  createSlashCommands,
} from "./assembly/commands.ts";
import { goalChecks } from "./assembly/goal-checks.ts";
import { AgentHost } from "./assembly/host.ts";
import { listOffers } from "./assembly/offers.ts";
import { createTaskAgent } from "./assembly/task-agent.ts";
import { translateError } from "./client-error.ts";
import {
  type CodingAgentOptions,
  DEFAULT_TOOL_LIMITS,
} from "./coding-agent-options.ts";
import { BUILTIN_TOOL_NAMES } from "./tool/builtin/builtin-tool-names.ts";

const CODING_SKILL: Skill = {
  id: "code",
  name: "Work on code",
  description:
    "Reads, searches, writes and runs code in a workspace, and asks before it changes anything.",
  tags: ["code", "shell", "files"],
  examples: [
    "Find the bug that makes the tests fail.",
    "Explain how the server starts.",
  ],
};

/**
 * The extensions of the agent's card: fields of answers in addition to the
 * RFC's confirmation (TOOL-11, TOOL-12).
 */
const EXTENSIONS: Agent["about"]["extensions"] = [
  {
    uri: SHOWN_DIGEST_URI,
    description:
      "An answer counts only for the question that its sender was shown.",
  },
  {
    uri: MODIFIED_ARGUMENTS_URI,
    description:
      "An answer replaces the arguments of a tool call, which asks again.",
  },
];

/**
 * Creates the coding agent, for `createServer({ agents: { … } })` of
 * `@devtool/server`.
 *
 * The agent works in a workspace with files, shell commands and MCP servers,
 * and asks before it changes anything. An agent serves one server, which opens
 * and closes it.
 *
 * Throws `Code.InvalidArgument` for an entry of `fetchTargets` that is not
 * `host:port` or `host:*`, for a tool whose name is used twice or is not 1 to
 * 64 letters, digits and `_`, and for an unknown name in `builtinTools`. The
 * server does not start with an invalid policy file, nor without the sandbox
 * that `sandbox: "bwrap"` requires.
 */
export function codingAgent(options: CodingAgentOptions = {}): Agent {
  for (const target of options.fetchTargets ?? []) {
    assertTarget("fetch_targets", target);
  }
  assertToolNames(options);
  const limits = { ...DEFAULT_LOOP_LIMITS, ...options.loopLimits };
  const chosen = options.model ?? createScriptedModel();
  const model = withLoopGuard(chosen, limits);
  return {
    about: defined({
      name: "devtool",
      description:
        "A coding agent that works in a workspace and asks before it changes anything.",
      skills: [CODING_SKILL],
      extensions: EXTENSIONS,
      inputModes: model.inputModes && [
        "text/plain",
        "application/json",
        ...model.inputModes,
      ],
    }),
    model: model.name,
    // Each call is decided by the approval mode of that moment.
    follows: [
      "allowed_tools",
      "approval_mode",
      ...(options.mcp ? (["mcp_servers", "added_mcp_servers"] as const) : []),
      ...(chosen.names || chosen.listModels ? (["model"] as const) : []),
      "fork",
      "fork_before_message",
    ],
    open: async (services) => {
      try {
        return await openCodingAgent(options, model, services);
      } catch (reason) {
        throw translateError(reason);
      }
    },
    load: async () => {
      // A script answers at once, and its server rests small.
      if (!chosen.load) return;
      await chosen.load();
      await import("./tool/builtin/builtin-tools.ts");
    },
  };
}

/** Throws for names of tools that are not names, not unique or not known. */
function assertToolNames({
  tools = [],
  builtinTools = [],
}: CodingAgentOptions): void {
  const toolNames = tools.map(({ declaration }) => declaration.name);
  const misnamed = toolNames.find((name) => !/^\w{1,64}$/.test(name));
  if (misnamed !== undefined) {
    throw invalid(
      "tools",
      misnamed,
      "is not a name",
      "use up to 64 letters, digits and _",
    );
  }
  const duplicate = toolNames.find(
    (name, index) => toolNames.indexOf(name) !== index,
  );
  if (duplicate !== undefined) {
    throw invalid("tools", duplicate, "is used twice", "leave one out");
  }
  const unknown = builtinTools.find(
    (name) => !BUILTIN_TOOL_NAMES.includes(name),
  );
  if (unknown !== undefined) {
    throw invalid(
      "builtin_tools",
      unknown,
      "does not exist",
      `choose ${BUILTIN_TOOL_NAMES.join(", ")}`,
    );
  }
}

/**
 * Opens the agent for a server. Throws for an invalid policy file, and for a
 * required sandbox that does not work.
 */
async function openCodingAgent(
  options: CodingAgentOptions,
  model: Model,
  services: AgentServices,
): Promise<OpenAgent> {
  const steps = stepModel(model);
  const host = await AgentHost.open({
    options,
    services,
    model: steps,
    limits: { ...DEFAULT_TOOL_LIMITS, ...options.toolLimits },
    environment: inheritedEnvironment(process.env),
  });
  await host.untold.resume(
    async (task) => (await calledAgents(host, task))?.agents ?? [],
  );
  // An operator who requires a sandbox does not want the server to start
  // without it.
  const { sandbox = "auto" } = options;
  if (sandbox !== "auto" && sandbox !== "none") await host.sandbox();
  const commands = createSlashCommands(
    host,
    createConversations(services.conversations, steps),
  );
  return {
    commands,
    approvals: host.approvals,
    createExecutor: (task) => createTaskAgent(host, commands, task),
    checks: goalChecks(host),
    forget: host.checkpoints?.forget,
    asksElsewhere: options.ide !== undefined,
    models: async (signal) => {
      try {
        return (await model.listModels?.(signal)) ?? [];
      } catch (reason) {
        // Nobody has sent a message that could be sent again.
        throw reason instanceof ModelFault && reason.retriable
          ? new DevtoolError(reason.problem, reason.code, {
              remedy: "try again later",
              cause: reason,
            })
          : translateError(reason);
      }
    },
    checkSettings: ({ model: name, mcpServers }) => {
      assertModel(model, name);
      host.mcp?.assertUsable(mcpServers);
    },
    offers: async (task, signal) => {
      try {
        return await listOffers(host, task, signal);
      } catch (reason) {
        throw translateError(reason);
      }
    },
    workspace: agentWorkspace(host),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** Throws for the name of a model that it is known not to have. */
function assertModel({ names = [] }: Model, name: string): void {
  if (name === "" || names.length === 0 || names.includes(name)) return;
  throw invalid("model", name, "does not exist", `choose ${names.join(", ")}`);
}
