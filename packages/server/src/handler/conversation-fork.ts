import { create } from "@bufbuild/protobuf";
import { shorten } from "@devtool/internal/cut-text";
import {
  type ConversationFork,
  ConversationForkSchema,
  confirmationsOf,
  isTerminal,
  type Message,
  type SendMessageRequest,
  SessionSettingsSchema,
  type TaskCreated,
  type TaskEvent,
} from "@devtool/schema";
import { isPrompt } from "../agent/turn-news.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import { listTaskIds } from "../task/read-task.ts";
import { assertName } from "./name-limit.ts";
import {
  findSession,
  type Session,
  type Settings,
} from "./session-settings.ts";

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
  const log = await readLog(store, taskId, principal);
  const contextId = log?.last.contextId ?? "";
  const session = log && (await findSession(store, contextId, principal));
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
  assertBegun(session, contextId);
  const { agentSessionId } = session;
  if (agentSessionId !== "" && beforeMessageId === "") {
    // The agent's own record has the later tasks, too.
    const last = await store.findLatest(principal, contextId);
    const latest =
      last?.taskId !== taskId &&
      (await latestOfMessages(store, principal, contextId));
    if (latest && latest !== taskId) {
      throw new DevtoolError(
        `the conversation of task ${quoted(taskId)} has gone on, and its agent can only go on with all of it`,
        Code.FailedPrecondition,
        { remedy: `name its last task, ${quoted(latest)}` },
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
    session: {
      ...session,
      settings: withOptions(session.settings, log.agentOptions),
      agentSessionId: "",
      extensionActive: false,
    },
  };
}

/**
 * Throws for a fork whose agent keeps conversations itself and has none for it yet:
 * what follows would not go on with the other conversation.
 */
export function assertBegun(
  { fork, agentSessionId }: Session,
  contextId: string,
): void {
  if (!fork?.agentSessionId || agentSessionId !== "") return;
  throw new DevtoolError(
    `context ${quoted(contextId)} goes on with task ${quoted(fork.taskId)}, and its agent has not begun with that`,
    Code.FailedPrecondition,
    { remedy: `fork task ${quoted(fork.taskId)} again` },
  );
}

/** Returns the latest task of a context that is not that of a slash command. */
async function latestOfMessages(
  store: TaskStore,
  principal: string,
  contextId: string,
): Promise<string | undefined> {
  for await (const taskId of listTaskIds(store, { principal, contextId })) {
    for await (const { payload } of store.readEvents(taskId, 0n)) {
      if (payload.case === "created" && !payload.value.command) return taskId;
      break;
    }
  }
  return undefined;
}

/** Returns the settings of a session with options that its agent has. */
function withOptions(
  { settings, sessionSettings }: Settings,
  agentOptions: Readonly<Record<string, string>>,
): Settings {
  if (Object.keys(agentOptions).length === 0) {
    return { settings, sessionSettings };
  }
  const kept = sessionSettings ?? create(SessionSettingsSchema);
  return { settings, sessionSettings: { ...kept, agentOptions } };
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
  /** The values that its messages have set for options of the agent. */
  readonly agentOptions: Readonly<Record<string, string>>;
}

/** Reads the log of a task. Undefined when the principal has no such task. */
async function readLog(
  store: TaskStore,
  taskId: string,
  principal: string,
): Promise<OriginLog | undefined> {
  let created: TaskCreated | undefined;
  let last: TaskEvent | undefined;
  const boundaries: Boundary[] = [];
  const agentOptions: Record<string, string> = {};
  const queued = new Map<string, Said>();
  for await (const event of store.readEvents(taskId, 0n)) {
    const { payload, sequence } = event;
    last = event;
    if (payload.case === "created") {
      created = payload.value;
      if (created.principal !== principal) return undefined;
      Object.assign(agentOptions, created.sessionSettings?.agentOptions);
    }
    const said = saidBy(payload, queued);
    Object.assign(agentOptions, said?.agentOptions);
    if (said?.isBoundary) {
      const { messageId } = said;
      boundaries.push({ messageId, lastSequence: sequence - 1n });
    }
  }
  return created && last && { created, last, boundaries, agentOptions };
}

/** What a fork needs of a message. */
interface Said extends Pick<Message, "messageId" | "agentOptions"> {
  /** Whether a fork may leave the conversation before it. */
  readonly isBoundary: boolean;
}

/**
 * Returns what an event adds to the conversation.
 *
 * @param queued the messages that wait, which it keeps up to date
 */
function saidBy(
  payload: TaskEvent["payload"],
  queued: Map<string, Said>,
): Said | undefined {
  switch (payload.case) {
    case "created":
      return payload.value.message && neededOf(payload.value.message);
    case "message":
      return neededOf(payload.value);
    case "messageQueued": {
      const { message } = payload.value;
      if (message) queued.set(message.messageId, neededOf(message));
      return undefined;
    }
    case "messageTaken":
    case "messageWithdrawn": {
      const { messageId } = payload.value;
      const said = queued.get(messageId);
      queued.delete(messageId);
      return payload.case === "messageTaken" ? said : undefined;
    }
    default:
      return undefined;
  }
}

function neededOf(message: Message): Said {
  const { messageId, agentOptions, forGoal } = message;
  return { messageId, agentOptions, isBoundary: isPrompt(message) && !forGoal };
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
    {
      // An agent that keeps the conversation itself goes on from its end alone.
      remedy:
        last.agentSessionId === ""
          ? `wait for it, or name the message to go on before: ${named}`
          : "wait for it",
    },
  );
}
