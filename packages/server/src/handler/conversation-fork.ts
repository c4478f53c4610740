import { create } from "@bufbuild/protobuf";
import { shorten } from "@devtool/internal/cut-text";
import {
  type ConversationFork,
  ConversationForkSchema,
  confirmationsOf,
  isTerminal,
  type Message,
  type SendMessageRequest,
  type TaskCreated,
  type TaskEvent,
} from "@devtool/schema";
import { isPrompt } from "../agent/turn-news.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import { assertName } from "./name-limit.ts";
import { findSession, type Session } from "./session-settings.ts";

const FIELD = "message_settings.fork";
/** The maximum number of messages that an error names: the newest. */
const MAX_NAMED = 20;

/**
 * Throws `Code.InvalidArgument` for a fork that no message can have, or that of
 * this request cannot.
 */
export function assertFork({
  taskId,
  message,
  messageSettings,
}: SendMessageRequest): void {
  const fork = messageSettings?.fork;
  if (!fork) return;
  assertName(`${FIELD}.task_id`, fork.taskId);
  assertName(`${FIELD}.before_message_id`, fork.beforeMessageId);
  if (fork.taskId === "") throw invalid(`${FIELD}.task_id`, "", "is missing");
  if (fork.lastSequence !== 0n || fork.agentSessionId !== "") {
    const problem =
      "has last_sequence or agent_session_id, which the server sets";
    throw invalid(FIELD, fork.taskId, problem, "leave them out");
  }
  if (taskId !== "") {
    const problem = "begins a task, and the message is for one that exists";
    throw invalid(FIELD, fork.taskId, problem, "send it without task_id");
  }
  if (message && confirmationsOf(message).length > 0) {
    const problem = "cannot come with an answer to a tool call";
    throw invalid(FIELD, fork.taskId, problem, "send it with a message");
  }
}

/** What a new conversation takes from the one that it goes on with. */
interface ForkOrigin {
  readonly fork: ConversationFork;
  readonly session: Session;
}

/**
 * Finds where a fork leaves the conversation that it goes on with. Reads the
 * store alone, so that all of it is durable.
 *
 * Throws `Code.NotFound` when the principal has no such task,
 * `Code.InvalidArgument` when it has no such message, and
 * `Code.FailedPrecondition` when there is nothing to go on with.
 */
export async function resolveFork(
  store: TaskStore,
  { taskId, beforeMessageId }: ConversationFork,
  principal: string,
): Promise<ForkOrigin> {
  const log = await readLog(store, taskId);
  const contextId = log?.last.contextId ?? "";
  const session =
    log?.created.principal === principal
      ? await findSession(store, contextId, principal)
      : undefined;
  if (!log || !session) {
    throw new DevtoolError(
      `task ${quoted(taskId)} does not exist`,
      Code.NotFound,
      {
        details: { field: `${FIELD}.task_id`, value: shorten(taskId) },
        remedy: "see the list of tasks",
      },
    );
  }
  if (log.created.command) {
    throw new DevtoolError(
      `task ${quoted(taskId)} is that of a slash command, which has no conversation`,
      Code.FailedPrecondition,
      { remedy: "name a task of messages" },
    );
  }
  const lastSequence = cutOf(log, beforeMessageId);
  const { agentSessionId } = log.last;
  if (agentSessionId !== "" && beforeMessageId === "") {
    // The agent's own record has the later tasks, too.
    const latest = await store.findLatest(principal, contextId);
    if (latest && latest.taskId !== taskId) {
      throw new DevtoolError(
        `the conversation of task ${quoted(taskId)} has gone on, and its agent can only go on with all of it`,
        Code.FailedPrecondition,
        { remedy: `name its last task, ${quoted(latest.taskId)}` },
      );
    }
  }
  return {
    fork: create(ConversationForkSchema, {
      taskId,
      beforeMessageId,
      lastSequence,
      agentSessionId,
    }),
    session: { ...session, agentSessionId: "", extensionActive: false },
  };
}

/** A message of the user, and the last event before it. */
interface Boundary {
  readonly messageId: string;
  readonly lastSequence: bigint;
}

/** What a fork needs of the log of a task. */
interface OriginLog {
  readonly created: TaskCreated;
  readonly last: TaskEvent;
  readonly boundaries: readonly Boundary[];
}

/** Reads the log of a task. Undefined when there is none. */
async function readLog(
  store: TaskStore,
  taskId: string,
): Promise<OriginLog | undefined> {
  let created: TaskCreated | undefined;
  let last: TaskEvent | undefined;
  const boundaries: Boundary[] = [];
  const queued = new Map<string, Message>();
  for await (const event of store.readEvents(taskId, 0n)) {
    const { payload, sequence } = event;
    last = event;
    if (payload.case === "created") created = payload.value;
    const { message } = payload.case === "messageQueued" ? payload.value : {};
    if (message) queued.set(message.messageId, message);
    const said = messageOf(payload, queued);
    if (said && isPrompt(said) && !said.forGoal) {
      const { messageId } = said;
      boundaries.push({ messageId, lastSequence: sequence - 1n });
    }
  }
  return created && last && { created, last, boundaries };
}

/** Returns the message that an event adds to the conversation. */
function messageOf(
  payload: TaskEvent["payload"],
  queued: ReadonlyMap<string, Message>,
): Message | undefined {
  switch (payload.case) {
    case "created":
      return payload.value.message;
    case "message":
      return payload.value;
    case "messageTaken":
      return queued.get(payload.value.messageId);
    default:
      return undefined;
  }
}

/** Returns the sequence of the last event before a message, or of all events. */
function cutOf(
  { last, boundaries }: OriginLog,
  beforeMessageId: string,
): bigint {
  const named = boundaries
    .slice(-MAX_NAMED)
    .map(({ messageId }) => quoted(messageId))
    .join(", ");
  if (beforeMessageId !== "") {
    const found = boundaries.findLast(
      ({ messageId }) => messageId === beforeMessageId,
    );
    if (found) return found.lastSequence;
    const problem = `is not a message of the user in task ${quoted(last.taskId)}`;
    const field = `${FIELD}.before_message_id`;
    throw invalid(field, beforeMessageId, problem, `choose ${named}`);
  }
  if (isTerminal(last.state)) return last.sequence;
  throw new DevtoolError(
    `task ${quoted(last.taskId)} has not ended`,
    Code.FailedPrecondition,
    { remedy: `wait for it, or name the message to go on before: ${named}` },
  );
}
