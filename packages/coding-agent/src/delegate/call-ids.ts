import { hash } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { callWithRetry } from "@devtool/client";
import { findToolCallDetail } from "@devtool/schema";
import type { CallPlace } from "../tool/tool.ts";
import type { CalledAgent, CanceledCall, Connection } from "./called-agent.ts";

/** A call of an agent, as far as it says which task has its work. */
export interface PlacedCall {
  readonly place: Pick<CallPlace, "task" | "toolCallId">;
  readonly agent: Pick<CalledAgent, "isOwnServer">;
  /** The id of the agent's task to go on with. Empty starts a new one. */
  readonly taskId: string;
  /** The conversation at the agent that a new task belongs to. Default: its own. */
  readonly conversation?: AgentConversation | undefined;
}

/** A conversation at a called agent, over several tasks. */
export interface AgentConversation {
  readonly contextId: string;
  /** The ids of its tasks so far, the last one last. */
  readonly taskIds: readonly string[];
}

/**
 * How often a lost agent is looked for before the call fails: some ten minutes.
 */
export const RETRIES = { maxAttempts: 60 };

/** Returns an id that follows from a call: the same one after a restart. */
export function idOf(
  { task, toolCallId }: PlacedCall["place"],
  what: "context" | "message" | "task",
): string {
  return uuidOf(JSON.stringify([task.id, toolCallId, what]));
}

/** Returns the SHA-256 of a text in the form of a UUID, as ids of A2A have it. */
export function uuidOf(text: string): string {
  const hex = hash("sha256", text);
  const at = [0, 8, 12, 16, 20, 32];
  return at
    .slice(1)
    .map((end, index) => hex.slice(at[index], end))
    .join("-");
}

/** Returns the id of a call's task in its log; empty before it is known. */
export function knownTaskOf({ task, toolCallId }: PlacedCall["place"]): string {
  return findToolCallDetail(task, toolCallId)?.delegation?.taskId ?? "";
}

/**
 * Returns the ids of the tasks that may have the message of a call. Undefined
 * when the agent does not say which tasks it has.
 *
 * Of a conversation, whose other messages are work of others, only a task that
 * shows the message counts.
 */
export async function tasksOf(
  { place, agent, taskId, conversation }: PlacedCall,
  { client }: Connection,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const known = knownTaskOf(place) || taskId;
  if (known !== "") return [known];
  if (agent.isOwnServer) return [idOf(place, "task")];
  const contextId = conversation?.contextId ?? idOf(place, "context");
  try {
    const { tasks } = await callWithRetry(
      (limit) => client.tasks.listTasks({ contextId }, { signal: limit }),
      RETRIES,
      signal,
    );
    // An agent may ignore the filter.
    const ids = tasks.flatMap((task) =>
      task.contextId === contextId ? [task.id] : [],
    );
    if (!conversation) return ids;
    const found = await Promise.all(
      ids
        .filter((id) => !conversation.taskIds.includes(id))
        .map((id) =>
          callWithRetry(
            (limit) => client.tasks.getTask({ taskId: id }, { signal: limit }),
            RETRIES,
            signal,
          ),
        ),
    );
    const sent = idOf(place, "message");
    return found.flatMap(({ task }) =>
      task?.history.some(({ messageId }) => messageId === sent)
        ? [task.id]
        : [],
    );
  } catch (reason) {
    // A2A 0.3 lists no tasks.
    if (ConnectError.from(reason).code === Code.Unimplemented) {
      return undefined;
    }
    throw reason;
  }
}

/**
 * Cancels the work of a call at its agent. Does nothing where it has ended, or
 * where this server knows that it never began. Throws when the agent cannot be
 * told, cancels no tasks, or does not say which task it is: a task that an agent
 * elsewhere does not list may be at work all the same.
 */
export async function cancelWork(
  call: PlacedCall,
  connection: Connection,
  signal: AbortSignal,
): Promise<void> {
  const { tasks } = connection.client;
  const taskIds = await tasksOf(call, connection, signal);
  if (!taskIds?.length) {
    const problem = "it has not said which task does the work, and lists none";
    throw new ConnectError(problem, Code.Unimplemented);
  }
  for (const taskId of taskIds) {
    try {
      await callWithRetry(
        (limit) => tasks.cancelTask({ taskId }, { signal: limit }),
        RETRIES,
        signal,
      );
    } catch (reason) {
      if (!HAS_ENDED.has(ConnectError.from(reason).code)) throw reason;
    }
  }
}

/**
 * Keeps the cancellation of a call whose agent did not answer in time. Returns
 * what is to be said of the agent's work.
 */
export async function keepUntold(
  agent: CalledAgent,
  { place, taskId, conversation }: Omit<PlacedCall, "agent">,
): Promise<string> {
  const { task, toolCallId } = place;
  const id =
    knownTaskOf(place) ||
    taskId ||
    (agent.isOwnServer ? idOf(place, "task") : "");
  const call: CanceledCall = { task, toolCallId, taskId: id, conversation };
  const isKept = await agent.untold?.keep(agent, call);
  return isKept ? MAY_GO_ON_UNTIL_TOLD : MAY_GO_ON;
}

/** What is to be said of the work of an agent that is never told to cancel it. */
export const MAY_GO_ON = "its work may go on";
const MAY_GO_ON_UNTIL_TOLD = `${MAY_GO_ON} until it is told, which this server tries for an hour`;

/** The codes with which an agent says that there is nothing to cancel. */
const HAS_ENDED: ReadonlySet<Code> = new Set([
  Code.NotFound,
  Code.FailedPrecondition,
]);
