import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { defined, objectOrEmpty } from "@devtool/internal/json";
import {
  ApprovalMode,
  type Message,
  MessageSchema,
  type Replay,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SessionSettingsSchema,
  type Task,
  type TaskEvent,
  type TaskService,
  TaskState,
} from "@devtool/schema";
import {
  extensionMetadata,
  findReplay,
  sessionMetadata,
  taskEventMetadata,
} from "@devtool/schema/a2a-v03";
import { decodeReadable } from "./decode-readable.ts";
import type { ExtensionUse } from "./endpoint.ts";
import type { KnownTask, KnownTasks } from "./known-tasks.ts";
import { type StreamPosition, taskFromAnswer } from "./plain-agent.ts";
import { assertPlainList } from "./plain-list.ts";
import { type FrameSource, readFrames } from "./read-frames.ts";
import type { Answer, Frame } from "./rpc-endpoint.ts";
import type { TaskCalls } from "./task-calls.ts";
import type { TaskContent } from "./task-content.ts";
import { isAnswered, withoutRetry } from "./unrepeatable.ts";
import { unreadableAnswer } from "./wire.ts";
import { pollTask } from "./without-streams.ts";

/**
 * Creates the task service on top of one version of A2A.
 *
 * Only an agent with the extension starts nothing twice when a message is sent
 * again. An error of another agent after a message may have reached it is marked
 * so that nobody repeats the call.
 */
export function createA2aTaskService(
  calls: TaskCalls,
  extension: ExtensionUse,
  known: KnownTasks,
): ServiceImpl<typeof TaskService> {
  const mayBeLog = extension === "active";
  const once = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (reason) {
      throw mayBeLog ? reason : withoutRetry(reason);
    }
  };
  const recipientOf = ({
    taskId,
    message,
  }: SendMessageRequest): KnownTask | undefined =>
    known.recipient(taskId, message?.messageId ?? "");
  return {
    async sendMessage(request, { signal }) {
      assertFollowed(request, extension);
      const sent = once(
        calls.send(calls.redirect(request, recipientOf(request)), signal),
      );
      const answer = withDoubt(await sent, request);
      return defined({
        task: readTask(answer, known),
        replay: readReplay(answer),
      });
    },
    async *streamMessage(
      { request: original = create(SendMessageRequestSchema) },
      { signal },
    ) {
      assertFollowed(original, extension);
      const recipient = recipientOf(original);
      const request = calls.redirect(original, recipient);
      const sequence = request.taskId === "" ? 0n : (recipient?.sequence ?? 0n);
      const start = {
        ...startPosition(request.taskId, sequence),
        sent: request.message,
      };
      const open = (limit: AbortSignal): AsyncIterable<Frame> => {
        const frames = calls.stream(request, limit);
        return mayBeLog ? firstWithDoubt(frames, request) : sentOnce(frames);
      };
      yield* readExchange({ open, start, mayBeLog }, known, signal);
    },
    async getTask({ taskId }, { signal }) {
      return { task: readTask(await calls.get(taskId, signal), known) };
    },
    async listTasks(request, { signal }) {
      assertPlainList(request, "A2A");
      return calls.list(request, signal);
    },
    async cancelTask({ taskId }, { signal }) {
      return { task: readTask(await calls.cancel(taskId, signal), known) };
    },
    async withdrawMessage(request, { signal }) {
      return { task: readTask(await calls.withdraw(request, signal), known) };
    },
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      const start = startPosition(
        afterSequence === 0n ? "" : taskId,
        afterSequence,
      );
      const at = known.find(taskId);
      const own = mayBeLog ? afterSequence.toString() : undefined;
      const lastEventId =
        at?.sequence === afterSequence ? (at.lastEventId ?? own) : own;
      const open = (limit: AbortSignal): AsyncIterable<Frame> => {
        const frames = calls.subscribe(taskId, lastEventId, limit);
        return mayBeLog ? frames : orPolled(frames, calls, taskId, limit);
      };
      const source = { open, start, mayBeLog };
      for await (const event of readEvents(source, known, signal)) {
        yield { event };
      }
    },
    renameTask: () => refuse("renameTask"),
    setGoalState: () => refuse("setGoalState"),
    deleteTask: () => refuse("deleteTask"),
    watchTasks: () => refuse("watchTasks"),
  };
}

function refuse(request: string): never {
  throw new ConnectError(
    `${request}: A2A has no such request: use Connect or gRPC`,
    Code.Unimplemented,
  );
}

/**
 * Throws `Code.FailedPrecondition` for settings that narrow what an agent does,
 * or add to it, if the agent does not have the extension: it would ignore them.
 */
function assertFollowed(
  request: SendMessageRequest,
  extension: ExtensionUse,
): void {
  if (extension === "active") return;
  const [ignored] = askedSettings(request);
  if (ignored === undefined) return;
  const problem =
    "the agent does not have the development-tool extension, so it would ignore it";
  throw new ConnectError(
    `${ignored} cannot be used: ${problem}: leave it out`,
    Code.FailedPrecondition,
  );
}

/** Returns the names of the settings that an agent must not ignore. */
function askedSettings({
  sessionSettings,
  messageSettings,
}: SendMessageRequest): string[] {
  const { allowedTools, mcpServers, approvalMode, model, agentOptions } =
    sessionSettings ?? create(SessionSettingsSchema);
  const asked = {
    allowed_tools: allowedTools.length > 0,
    approval_mode:
      approvalMode !== ApprovalMode.UNSPECIFIED &&
      approvalMode !== ApprovalMode.YOLO,
    model: model !== "",
    mcp_servers: mcpServers.length > 0,
    agent_options: Object.keys(agentOptions).length > 0,
    turn: messageSettings?.turn !== undefined,
    fork: messageSettings?.fork !== undefined,
  };
  return Object.entries(asked).flatMap(([name, isAsked]) =>
    isAsked ? [name] : [],
  );
}

/**
 * Returns the first answer to a message with a doubt, if the message has
 * settings and the answer nothing of the extension: an agent may list the
 * extension and ignore what it was asked.
 */
function withDoubt<T extends Answer>(
  answer: T,
  request: SendMessageRequest,
): T {
  const asked = askedSettings(request);
  const metadata = objectOrEmpty(objectOrEmpty(answer.result).metadata);
  const isMarked = [extensionMetadata, sessionMetadata, taskEventMetadata].some(
    (find) => find(metadata),
  );
  if (asked.length === 0 || isMarked) return answer;
  const names = asked.join(", ");
  const doubt = `the agent lists the development-tool extension but answers without it: it may ignore ${names}`;
  return { ...answer, doubt };
}

async function* firstWithDoubt(
  frames: AsyncIterable<Frame>,
  request: SendMessageRequest,
): AsyncIterable<Frame> {
  let hasBegun = false;
  for await (const frame of frames) {
    yield hasBegun ? frame : withDoubt(frame, request);
    hasBegun = true;
  }
}

/**
 * The position of a stream that starts after an event of a task of which
 * nothing else is known.
 */
function startPosition(taskId: string, sequence: bigint): StreamPosition {
  return { sequence, taskId, contextId: "", state: TaskState.WORKING };
}

/**
 * Yields the frames that answer a message to an agent that would start a message
 * that comes again a second time. Its errors are not to be repeated; after the
 * first frame, a lost connection can be resumed.
 */
async function* sentOnce(frames: AsyncIterable<Frame>): AsyncIterable<Frame> {
  let hasBegun = false;
  try {
    for await (const frame of frames) {
      hasBegun = true;
      yield frame;
    }
  } catch (reason) {
    throw hasBegun && !isAnswered(reason) ? reason : withoutRetry(reason);
  }
}

/**
 * Yields the frames of a subscription. If the agent refuses it, because it
 * cannot resume a stream or the task has ended, yields the task as it is until
 * it rests.
 */
async function* orPolled(
  frames: AsyncIterable<Frame>,
  calls: TaskCalls,
  taskId: string,
  signal: AbortSignal,
): AsyncIterable<Frame> {
  let refusal: unknown;
  try {
    yield* frames;
    return;
  } catch (reason) {
    if (!isAnswered(reason)) throw reason;
    refusal = reason;
  }
  const why = ConnectError.from(refusal).rawMessage;
  const polls = `a stream, which the agent does not resume (${why}): the task is asked for again and again`;
  yield* pollTask(calls, taskId, [polls], signal);
}

/**
 * Reads the task of an answer. What cannot be read of it is left out, and a
 * message at the end of the history says so, with the answer's doubt.
 */
function readTask(
  { result, leftOut = [], doubt }: Answer,
  known: KnownTasks,
): Task {
  const { value, leftOut: unread } = decodeReadable(
    result ?? null,
    taskFromAnswer,
  );
  const missing = [...leftOut, ...unread];
  const isEmpty =
    missing.length > 0 &&
    value?.state === TaskState.UNSPECIFIED &&
    value.history.length + value.artifacts.length === 0;
  if (!value || isEmpty) throw unreadableAnswer(missing);
  // A known task has the sequence that a stream has shown, from which the
  // events of agents without ids are counted on.
  known.update({ ...value, sequence: 0n });
  const lines = missing.map((why) => `left out: ${why}`);
  if (doubt !== undefined) lines.unshift(doubt);
  if (lines.length === 0) return value;
  return { ...value, history: [...value.history, noteOf(lines)] };
}

function noteOf(lines: readonly string[]): Message {
  const content = { case: "text", value: lines.join("\n") } as const;
  return create(MessageSchema, { role: Role.AGENT, parts: [{ content }] });
}

/**
 * Reads whether an answer or a frame replays an earlier exchange (STREAM-7).
 */
function readReplay({ result }: Answer): Replay | undefined {
  return decodeReadable(objectOrEmpty(result).metadata ?? null, (metadata) =>
    findReplay(objectOrEmpty(metadata)),
  ).value;
}

/**
 * Reads the events of a stream that answers a message, the first event of a
 * frame with the frame's replay.
 */
async function* readExchange(
  { open, ...source }: Omit<FrameSource, "contentOf">,
  known: KnownTasks,
  signal: AbortSignal,
): AsyncIterable<{ event: TaskEvent; replay?: Replay }> {
  let replay: Replay | undefined;
  const noting = async function* (limit: AbortSignal): AsyncIterable<Frame> {
    for await (const frame of open(limit)) {
      // A frame may show no event, and its replay goes with the next one.
      replay = readReplay(frame) ?? replay;
      yield frame;
    }
  };
  for await (const event of readEvents(
    { ...source, open: noting },
    known,
    signal,
  )) {
    yield defined({ event, replay });
    replay = undefined;
  }
}

/**
 * Reads the events of a stream and remembers where their task stands.
 */
async function* readEvents(
  { open, ...source }: Omit<FrameSource, "contentOf">,
  known: KnownTasks,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  let lastEventId: string | undefined;
  const noting = async function* (limit: AbortSignal): AsyncIterable<Frame> {
    for await (const frame of open(limit)) {
      lastEventId = frame.id ?? lastEventId;
      yield frame;
    }
  };
  const contentOf = (taskId: string): TaskContent => known.contentOf(taskId);
  for await (const event of readFrames(
    { ...source, open: noting, contentOf },
    signal,
  )) {
    known.update({ ...event, id: event.taskId, lastEventId });
    yield event;
  }
}
