import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { createDevtoolClient } from "@devtool/client";
import type { Task } from "@devtool/schema";
import {
  type AgentServices,
  Code,
  DevtoolError,
  quoted,
} from "@devtool/server/agent";
import type { LocalAgent } from "./agent-files.ts";
import type { CalledAgent, TaskSettings } from "./called-agent.ts";

/**
 * Returns the agents that files describe. Each works in a task of the calling
 * agent itself, with its instructions before the message, the tools that both
 * the file and the session allow, and all other settings of the calling task.
 *
 * @param caller identifies the calling agent in a `CallChain`
 * @param settingsFor the settings of the calling agent for such a task
 */
export function localAgents(
  agents: readonly LocalAgent[],
  directory: AgentServices["agents"],
  caller: string,
  settingsFor: (task: Task) => TaskSettings,
): readonly CalledAgent[] {
  return agents.map((agent) => ({
    name: agent.name,
    description: agent.description,
    place: `of ${agent.path}`,
    chainId: localChainId(caller, agent.name),
    definitionHash: agent.digest,
    local: { name: agent.name, instructions: agent.instructions },
    isOwnServer: true,
    connect: async (task) => ({
      client: createDevtoolClient(await directory.transportFor(task)),
      isIdempotent: true,
    }),
    settingsFor: (task) => narrowed(agent, task, settingsFor(task)),
  }));
}

/** Returns what identifies an agent of a file in a `CallChain`. */
export function localChainId(caller: string, name: string): string {
  return `${caller}/${name}`;
}

function narrowed(
  { name, tools, timeoutMinutes }: LocalAgent,
  { sessionSettings, history }: Task,
  settings: TaskSettings,
): TaskSettings {
  const session = sessionSettings?.allowedTools ?? [];
  const allowedTools =
    session.length === 0
      ? [...(tools ?? [])]
      : session.filter((tool) => tools === undefined || tools.includes(tool));
  // An empty list stands for all tools.
  if (allowedTools.length === 0 && session.length > 0) {
    throw new DevtoolError(
      `agent ${quoted(name)} has no tool that this session allows`,
      Code.FailedPrecondition,
    );
  }
  const budget = history.findLast(({ turnSettings }) => turnSettings)
    ?.turnSettings?.budget;
  const timesMs = [
    ...(budget?.time ? [durationMs(budget.time)] : []),
    ...(timeoutMinutes === undefined ? [] : [timeoutMinutes * 60_000]),
  ];
  return {
    ...settings,
    sessionSettings: { ...settings.sessionSettings, allowedTools },
    ...(timesMs.length > 0 && {
      messageSettings: {
        turn: {
          budget: { ...budget, time: durationFromMs(Math.min(...timesMs)) },
        },
      },
    }),
  };
}
