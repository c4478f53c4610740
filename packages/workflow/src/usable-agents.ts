import type { CalledAgent } from "@devtool/coding-agent/delegate";
import type { Task } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import { type CallingOptions, narrowedBy } from "./reach.ts";

/** The agents that may have a message, and why others may not. */
interface UsableAgents {
  readonly able: readonly CalledAgent[];
  readonly errors: readonly DevtoolError[];
}

/**
 * Returns which agents of a mesh may have a message of a task, in the order of
 * their names.
 *
 * @param reachable the agents that the task may call
 */
export function usableAgents(
  names: readonly string[],
  reachable: readonly CalledAgent[],
  { task, options }: { readonly task: Task; readonly options: CallingOptions },
): UsableAgents {
  const able: CalledAgent[] = [];
  const errors: DevtoolError[] = [];
  const setting = narrowedBy(task, options);
  for (const name of names) {
    const agent = reachable.find((one) => one.name === name);
    if (!agent) {
      const known = reachable.map((one) => one.name).join(", ") || "none";
      const remedy = `serve it, name it in remote_agents, have it registered, or raise agent_calls.max_depth; there are: ${known}`;
      errors.push(unusable(name, "cannot be called by this task", remedy));
    } else if (setting && !agent.isOwnServer) {
      const problem = `elsewhere does not follow ${setting} of this session`;
      const remedy = `leave ${setting} out, or choose an agent of this server`;
      errors.push(unusable(name, problem, remedy));
    } else {
      able.push(agent);
    }
  }
  return { able, errors };
}

function unusable(name: string, problem: string, remedy: string): DevtoolError {
  return new DevtoolError(
    `agent ${quoted(name)} ${problem}`,
    Code.FailedPrecondition,
    { remedy },
  );
}
