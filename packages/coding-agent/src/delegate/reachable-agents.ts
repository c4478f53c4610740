import type { ApprovalMode, Task } from "@devtool/schema";
import { type AgentServices, quoted } from "@devtool/server/agent";
import type { FileAgents } from "./agent-files.ts";
import { agentsAbove, calledAs } from "./call-chain.ts";
import type { CalledAgent, CancelKeeper } from "./called-agent.ts";
import { localAgents, localChainId } from "./local-agents.ts";
import { type RemoteAgent, remoteAgents } from "./remote-agents.ts";
import { servedAgents, servedChainId, settingsFor } from "./served-agents.ts";

/** The default number of agents that may call each other in a row. */
const MAX_DEPTH = 3;

/** What decides which agents a task may give work to. */
export interface ReachOptions {
  readonly services: Pick<AgentServices, "agents" | "operator" | "onNotice">;
  /** Agents elsewhere, for tasks of the operator. Default: none. */
  readonly remoteAgents?: readonly RemoteAgent[] | undefined;
  /** Agents of the operator's own files. Default: none. */
  readonly ownFiles?: FileAgents | undefined;
  /** Agents of the files of a repository. Default: none. */
  readonly repositoryFiles?: FileAgents | undefined;
  /** Keeps what the agents cannot be told. Default: nothing is kept. */
  readonly untold?: CancelKeeper | undefined;
  /** How many agents may call each other in a row. Default: 3. */
  readonly maxDepth?: number | undefined;
  /** The approval modes of a task, and of the operator. */
  readonly modes: (task: Task) => {
    readonly mode: ApprovalMode;
    readonly operatorMode: ApprovalMode;
  };
}

/** The agents that a task may give work to. */
export interface Reach {
  readonly agents: readonly CalledAgent[];
  /** The agents down to that of the task, as a `CallChain` has them. */
  readonly chain: readonly string[];
}

/**
 * Returns the agents that a task may give work to: those of the server, and
 * those elsewhere that the operator named, for the operator's own tasks, and
 * those of files. Of two with one name, the operator's counts and not that of a
 * repository. None for an agent that is as deep in a chain of calls as the limit
 * allows.
 *
 * Throws `Code.FailedPrecondition` for a task that its own agent has caused,
 * over others.
 */
export function reachableAgents(
  task: Task,
  { services, remoteAgents: remote = [], modes, ...options }: ReachOptions,
): Reach {
  const { agents: directory, operator, onNotice } = services;
  const own = task.sessionSettings?.agent ?? "";
  const served = servedChainId(directory, own);
  const file = calledAs(task);
  const caller = file === "" ? served : localChainId(served, file);
  const above = agentsAbove(task, caller);
  const chain = [...above, caller];
  if (above.length >= (options.maxDepth ?? MAX_DEPTH)) {
    return { agents: [], chain };
  }
  const elsewhere = (agents: readonly RemoteAgent[]): readonly CalledAgent[] =>
    remoteAgents(task.principal === operator ? agents : []);
  const ofFiles = (files: FileAgents | undefined): readonly CalledAgent[] => [
    ...localAgents(files?.local ?? [], directory, served, (asked) => {
      // A single agent has no name.
      const { follows } =
        directory.listed.find(({ name }) => name === own || name === "") ?? {};
      const followed = new Set(follows?.settings);
      return settingsFor(own, followed, asked, modes(asked));
    }),
    ...elsewhere(files?.remote ?? []),
  ];
  const byName = new Map<string, CalledAgent>();
  for (const agent of [
    ...servedAgents(directory, own, modes),
    ...elsewhere(remote),
    ...ofFiles(options.ownFiles),
    ...ofFiles(options.repositoryFiles).map((agent) => ({
      ...agent,
      isOfRepository: true,
    })),
  ]) {
    // Names that differ in their case alone look the same to a reader.
    const name = agent.name.replaceAll("-", "_").toLowerCase();
    if (chain.includes(agent.chainId)) continue;
    const problem = !/^[\w-]{1,50}$/.test(agent.name)
      ? "has other characters than letters, digits, - and _, or more than 50"
      : byName.has(name) && "is that of another agent, or nearly";
    if (problem) {
      onNotice(
        `agent ${quoted(agent.name)} ${agent.place} is left out: its name ${problem}`,
      );
    } else {
      byName.set(name, { ...agent, untold: options.untold });
    }
  }
  return { agents: [...byName.values()], chain };
}
