import { create, type JsonObject } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import {
  answerText,
  confirmationsOf,
  findToolCall,
  findToolCallDetail,
  NoticeSchema,
  OPTION_CANCEL,
  OPTION_REJECT,
  Role,
  type Task,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type AgentEvent,
  type AgentExecutor,
  type DevtoolError,
  type Turn,
  type TurnEnd,
  tellIdeContext,
} from "@devtool/server/agent";
import { listMcpServers } from "./mcp-list.ts";
import { type OpenThread, openThread, type ThreadHost } from "./open-thread.ts";
import { modelOf, permissionMode, turnSettings } from "./thread-settings.ts";
import type { AnsweredCall } from "./turn/answered-calls.ts";
import { CodexTurn } from "./turn/codex-turn.ts";
import { errorText, wordsOf } from "./turn/odd-value.ts";
import { inputFromMessage, textInput, withEditor } from "./turn/prompt.ts";

/** The dependencies that all executors of an agent share. */
export interface CodexHost extends ThreadHost {
  readonly now: () => Date;
  /** The principal of the operator. */
  readonly operator: string;
  readonly onNotice: (text: string) => void;
}

/** A turn of Codex that has ended, or whose app-server has failed. */
interface Attempt {
  readonly codexTurn: CodexTurn;
  readonly failure: DevtoolError | undefined;
}

/**
 * Works on a task with a thread of Codex, in an app-server process of the
 * conversation.
 */
export class CodexExecutor implements AgentExecutor {
  readonly takesSteering = true;
  readonly keepsSession = true;
  readonly metersCommands = true;
  readonly #host: CodexHost;

  constructor(host: CodexHost) {
    this.#host = host;
  }

  modelFor(task: Task): string {
    const prompt = task.history.findLast(
      (message) =>
        message.role === Role.USER && confirmationsOf(message).length === 0,
    );
    return prompt?.model || modelOf(this.#host.options, task) || "";
  }

  async *execute(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    if (turn.task.command) return yield* this.#listMcpServers(turn, signal);
    // The calls that were answered while no executor ran.
    let answered: readonly AnsweredCall[] = turn.news.answers.flatMap(
      (answer) => {
        const call = findToolCall(turn.task, answer.toolCallId);
        const { digest = new Uint8Array() } =
          findToolCallDetail(turn.task, answer.toolCallId) ?? {};
        return call ? [{ call, answer, digest }] : [];
      },
    );
    if (!turn.news.message && isStopped(answered)) {
      return yield { case: "end", value: STOPPED };
    }
    // A restart continues the turn; anything else begins with a message.
    const message =
      turn.news.message ??
      (turn.task.agentSessionId === "" ? turn.prompt : undefined);
    let input = message
      ? inputFromMessage(message)
      : continuation(answered, turn.task);
    for (let isPrompt = message !== undefined; ; isPrompt = false) {
      const { codexTurn, failure } = yield* this.#attempt(
        turn,
        { answered, input, isPrompt },
        signal,
      );
      if (!failure) return;
      // An open question outlives the process that asked it.
      answered = yield* codexTurn.outlive(signal);
      if (answered.length === 0) throw failure;
      if (isStopped(answered)) return yield { case: "end", value: STOPPED };
      const text = `${failure.message}: it is started again`;
      yield { case: "notice", value: create(NoticeSchema, { text }) };
      input = continuation(answered, turn.task);
    }
  }

  /** Answers `/mcp list`, the only command. */
  async *#listMcpServers(
    turn: Turn,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const { threadId, warning, ...loaded } = await openThread(
      this.#host,
      turn,
      signal,
    );
    try {
      yield* beginningOf(turn, { threadId, warning }, []);
      const value = await listMcpServers(loaded.server, threadId, signal);
      yield { case: "text", value };
    } finally {
      await this.#host.pool.giveBack(threadId, loaded);
    }
  }

  /**
   * Runs one turn of Codex. Returns it with the failure of its app-server, if
   * that ended before the turn.
   */
  async *#attempt(
    turn: Turn,
    {
      answered,
      input,
      isPrompt,
    }: {
      readonly answered: readonly AnsweredCall[];
      readonly input: readonly JsonObject[];
      /** Whether the input is the prompt of the turn. */
      readonly isPrompt: boolean;
    },
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, Attempt> {
    const { threadId, warning, ...loaded } = await openThread(
      this.#host,
      turn,
      signal,
    );
    const { server, sandbox } = loaded;
    // A thread that is new knows nothing of the editor.
    const { agentSessionId, ideContext } = turn.task;
    const told = threadId === agentSessionId ? ideContext : undefined;
    const codexTurn = new CodexTurn({
      turn,
      server,
      threadId,
      workspace: turn.task.settings?.workspacePath ?? "",
      answered: answered.filter(
        ({ answer }) => !DECLINING.includes(answer.selectedOptionId),
      ),
      settings: () => {
        // A thread keeps the model of its last turn, so one with the thread's
        // own names it.
        const model = this.modelFor(turn.task) || loaded.model;
        const settings = turnSettings(this.#host.options, turn, sandbox);
        return model === "" ? settings : { ...settings, model };
      },
      approvalMode: () => permissionMode(this.#host.options, turn),
      permission: this.#host.options.permission,
      now: this.#host.now,
    });
    try {
      yield* beginningOf(turn, { threadId, warning }, answered);
      const { options, operator } = this.#host;
      const telling = { ide: options.ide, operator, told };
      const editor = isPrompt
        ? yield* tellIdeContext(telling, turn, signal)
        : "";
      const begun = withEditor(input, editor, loaded.provider);
      const end = turnEnd(yield* codexTurn.run(begun, signal));
      if (end) yield { case: "end", value: end };
      return { codexTurn, failure: undefined };
    } catch (reason) {
      if (!server.failure || signal.aborted) throw reason;
      return { codexTurn, failure: server.failure };
    } finally {
      if (server.failure && !signal.aborted) {
        const { failure, lastWords } = server;
        this.#host.onNotice(
          lastWords === ""
            ? failure.message
            : `${failure.message}; its last words: ${lastWords}`,
        );
      }
      await this.#host.pool.giveBack(threadId, loaded);
    }
  }
}

function isStopped(answered: readonly AnsweredCall[]): boolean {
  return answered.some(
    ({ answer }) => answer.selectedOptionId === OPTION_CANCEL,
  );
}

const DECLINING: readonly string[] = [OPTION_CANCEL, OPTION_REJECT];

/**
 * Yields what precedes a turn of Codex: its thread, a warning about that, and
 * the ends of the calls that the user declined.
 */
function* beginningOf(
  { task }: Turn,
  { threadId, warning }: Pick<OpenThread, "threadId" | "warning">,
  answered: readonly AnsweredCall[],
): Generator<AgentEvent> {
  // Recorded first: what Codex does from here on is in this thread.
  if (threadId !== task.agentSessionId) {
    yield { case: "session", value: threadId };
  }
  if (warning !== "") {
    yield { case: "notice", value: create(NoticeSchema, { text: warning }) };
  }
  for (const { call, answer } of answered) {
    if (answer.selectedOptionId !== OPTION_REJECT) continue;
    yield {
      case: "toolCalls",
      value: [{ call: { ...call, status: ToolCallStatus.CANCELLED } }],
    };
  }
}

const STOPPED: TurnEnd = {
  state: TaskState.INPUT_REQUIRED,
  text: "Codex stopped because the call was canceled. Send a message to go on.",
};

/**
 * Returns what Codex has to know to go on after it, or the server, was started
 * again.
 *
 * Codex forgets an open question when it ends. It is told of the answer and
 * makes the call again; its second question is answered with the user's answer
 * to the first.
 */
function continuation(
  answered: readonly AnsweredCall[],
  task: Task,
): JsonObject[] {
  const words = answered
    .map(({ call }) => answerText(task, call.toolCallId))
    .filter((text) => text.trim() !== "");
  const lines = answered.map(({ call, answer }) => {
    const name = `${call.toolName}: ${call.description ?? ""}`;
    return answer.selectedOptionId === OPTION_REJECT
      ? `The user declined this call, and it did not run: ${name}`
      : `The user approved this call, and it has not run yet. Make exactly the same call again: ${name}`;
  });
  return [
    textInput(
      [
        "You were restarted while you waited for the user.",
        ...lines,
        ...[...new Set(words)].map((text) => `The user also said: ${text}`),
        "Then go on.",
      ].join("\n"),
    ),
  ];
}

/**
 * Returns how the task's turn ends with a turn of Codex. Undefined when it is
 * completed.
 */
function turnEnd({ status, error }: JsonObject): TurnEnd | undefined {
  if (status === "completed") return undefined;
  if (status === "interrupted") return STOPPED;
  const isLogin = objectOrEmpty(error).codexErrorInfo === "unauthorized";
  const text =
    errorText(error) ||
    `Codex ended its turn (${wordsOf(status) || "without a status"}) and gave no reason`;
  return { state: isLogin ? TaskState.AUTH_REQUIRED : TaskState.FAILED, text };
}
