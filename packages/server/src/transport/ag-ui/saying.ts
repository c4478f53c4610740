import { create } from "@bufbuild/protobuf";
import {
  awaitedToolCalls,
  isTerminal,
  type Part,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
} from "@devtool/schema";
import {
  type ForwardedProps,
  newMessageOf,
  type RunAgentInput,
  readResume,
} from "@devtool/schema/ag-ui";
import { Code, DevtoolError, invalid, quoted } from "../../errors.ts";

/** What a run says to its thread. */
export type Saying =
  /** A message, or answers. */
  | { readonly case: "send"; readonly request: SendMessageRequest }
  /** The agent shall stop. */
  | { readonly case: "cancel" }
  /** Nothing new: the run shows the thread until it rests. */
  | { readonly case: "show" };

/**
 * Returns what a run sends to its thread.
 *
 * Throws a `WireError` for malformed messages or answers, and a `DevtoolError`
 * for parts of a run that do not go together: a new message while calls wait
 * for answers, or settings of a turn that the run does not start.
 *
 * @param task the task of the thread; an empty one for a new thread
 */
export function readSaying(
  input: RunAgentInput,
  props: ForwardedProps,
  task: Task,
): Saying {
  const { threadId, resume } = input;
  const said = newMessageOf(input, task);
  // A message that the thread has is the same request again, and its settings
  // came with the first one.
  const isRepeated = input.messages.at(-1)?.role === "user";
  const { turn, goal, fork } = props.messageSettings ?? {};
  const [chosen] = Object.entries({ turn, goal, fork }).flatMap(
    ([name, value]) => (value ? [name] : []),
  );
  if (
    chosen !== undefined &&
    (props.cancel || !(said || isRepeated || resume.length > 0))
  ) {
    throw invalid(
      `message_settings.${chosen}`,
      "",
      "starts no turn, since the run has no message",
      "send it with a message",
    );
  }
  if (props.cancel && (said || resume.length > 0)) {
    throw invalid(
      "forwardedProps.devtool.cancel",
      "",
      "does not go with a message or answers",
      "send it alone",
    );
  }
  if (task.id === "" && (props.cancel || resume.length > 0)) {
    throw new DevtoolError(
      `thread ${quoted(threadId)} does not exist`,
      Code.NotFound,
      { remedy: "begin it with a message of the user" },
    );
  }
  if (props.cancel) return { case: "cancel" };
  if (resume.length > 0) return readAnswers(input, props, task, said);
  if (!said) return { case: "show" };
  assertNothingAsked(threadId, task);
  return { case: "send", request: requestOf(input, props, task, said) };
}

/** Throws while calls of a thread wait: AG-UI requires the answers first. */
function assertNothingAsked(threadId: string, task: Task): void {
  const asking = awaitedToolCalls(task).map(({ toolCallId }) =>
    quoted(toolCallId),
  );
  if (asking.length === 0) return;
  const problem = `thread ${quoted(threadId)} waits for answers about tool call ${asking.join(", ")}`;
  const remedy =
    "answer its interrupts in resume, or send a run without a new message to see them";
  throw new DevtoolError(problem, Code.FailedPrecondition, { remedy });
}

/** Returns what a run with answers sends, and the message beside them. */
function readAnswers(
  input: RunAgentInput,
  props: ForwardedProps,
  task: Task,
  said: Said | undefined,
): Saying {
  const { runId, resume } = input;
  // The same request again: its answers were recorded under the id of the run.
  if (task.history.some(({ messageId }) => messageId === runId)) {
    return { case: "show" };
  }
  const resumption = readResume(resume, task);
  if (resumption.case === "answers") {
    const { messageId, parts } = said ?? { messageId: runId, parts: [] };
    const answers = { messageId, parts: [...resumption.parts, ...parts] };
    return { case: "send", request: requestOf(input, props, task, answers) };
  }
  if (said) {
    throw invalid(
      "messages",
      "",
      "have a message that goes with no answer",
      "send it in a run of its own",
    );
  }
  return { case: resumption.case === "cancel" ? "cancel" : "show" };
}

/** The content of a message to a thread. */
interface Said {
  readonly messageId: string;
  readonly parts: readonly Part[];
}

function requestOf(
  { threadId }: RunAgentInput,
  { settings, sessionSettings, messageSettings }: ForwardedProps,
  task: Task,
  { messageId, parts }: Said,
): SendMessageRequest {
  // A slash command, an agent that answers with a message alone, or the run of
  // a workflow that has ended, takes no other message.
  const isEndedRun = task.workflowRun && isTerminal(task.state);
  const takesMessages =
    task.id !== "" && !task.command && !task.replyOnly && !isEndedRun;
  return create(SendMessageRequestSchema, {
    message: {
      messageId,
      parts: [...parts],
      referenceTaskIds: takesMessages || task.id === "" ? [] : [task.id],
    },
    taskId: takesMessages ? task.id : "",
    contextId: threadId,
    settings,
    sessionSettings,
    messageSettings,
    returnImmediately: true,
  });
}
