import { readCallChain, type Task, WireError } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";

/**
 * Returns the agents that called each other to make a task, the first one first;
 * none for a task of a user.
 *
 * Whoever sent the message may claim any chain: it can make an agent do less,
 * and says nothing to users. Throws `Code.InvalidArgument` for one that cannot
 * be read, since without it the agent would do more, and
 * `Code.FailedPrecondition` if the task's own agent is in it.
 *
 * @param own identifies the agent of the task
 */
export function agentsAbove(
  { history: [first] }: Pick<Task, "history">,
  own: string,
): readonly string[] {
  const agents = first ? chainOf(first) : [];
  if (!agents.includes(own)) return agents;
  throw new DevtoolError(
    `agent ${quoted(own)} was called by itself, over ${agents.map(quoted).join(", ")}`,
    Code.FailedPrecondition,
    { remedy: "have one of them answer without calling another agent" },
  );
}

function chainOf(message: Task["history"][number]): readonly string[] {
  try {
    return readCallChain(message).agents;
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new DevtoolError(reason.message, Code.InvalidArgument);
  }
}
