import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Arrivals } from "@devtool/internal/arrivals";
import {
  canonicalJson,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  type ApprovalMode,
  findToolCall,
  isEnded,
  structFromJson,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type AgentEvent,
  CANCELLED,
  Code,
  DevtoolError,
  failedCall,
  type PermissionPolicy,
  type Turn,
} from "@devtool/server/agent";
import type { AppServer, ServerMessage } from "../app-server/app-server.ts";
import {
  type AnsweredCall,
  AnsweredCalls,
  awaitAnswer,
} from "./answered-calls.ts";
import { CallBook } from "./call-book.ts";
import type { ItemCall } from "./item-call.ts";
import { ItemStream } from "./item-stream.ts";
import { SHOW_INTERVAL_MS } from "./live-output.ts";
import { inputFromMessage, type TurnInput, textInput } from "./prompt.ts";
import { Questions } from "./questions.ts";

/** Dependencies of `CodexTurn`. */
export interface CodexTurnOptions {
  readonly turn: Turn;
  readonly server: AppServer;
  readonly threadId: string;
  /** An absolute path. */
  readonly workspace: string;
  /** Calls that an earlier run of the turn left, and that Codex makes again. */
  readonly answered: readonly AnsweredCall[];
  /**
   * Returns the parameters of `turn/start` beside the thread and the input, for
   * the mode that the session has now.
   */
  readonly settings: () => JsonObject;
  /** Returns the approval mode for the permission policy. */
  readonly approvalMode: () => ApprovalMode;
  readonly permission: PermissionPolicy | undefined;
  readonly now: () => Date;
}

/** The event that the turn waits for. */
type Incoming =
  | ServerMessage
  | {
      readonly case: "act";
      readonly act: () => AgentEvent[];
      readonly done: () => void;
    };

/** The time that Codex has to interrupt its turn, in milliseconds. */
const INTERRUPT_MS = 2000;

/**
 * Runs one turn of Codex, from its input to `turn/completed`, and yields events
 * of the agent.
 */
export class CodexTurn {
  readonly #options: CodexTurnOptions;
  readonly #inbox = new Arrivals<Incoming>();
  readonly #calls = new CallBook();
  readonly #items: ItemStream;
  readonly #questions: Questions;
  readonly #answered: AnsweredCalls;
  #turnId = "";
  #hasEnded = false;
  /** The approval mode with which the turn of Codex began. */
  #mode: ApprovalMode | undefined;
  /**
   * Input that arrived too late for the turn of Codex, or that changes its
   * mode: the next one begins with it.
   */
  #late: JsonObject[] = [];
  /** Resolves when Codex has taken or refused what it was given meanwhile. */
  #steered: Promise<unknown> = Promise.resolve();

  constructor(options: CodexTurnOptions) {
    this.#options = options;
    this.#answered = new AnsweredCalls(options.answered);
    const { turn, server, threadId, workspace, approvalMode, permission, now } =
      options;
    const calls = this.#calls;
    this.#items = new ItemStream({
      calls,
      threadId,
      workspace,
      begin: (itemId, call) => this.#begin(itemId, call),
    });
    this.#questions = new Questions({
      turn,
      server,
      calls,
      approvalMode,
      permission,
      changesOf: (itemId) => this.#items.changesOf(itemId),
      leaveOut: (what) => this.#items.leaveOut(what),
      answered: this.#answered,
      publish: async (act) => {
        if (this.#hasEnded) return;
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#inbox.put({ case: "act", act, done: resolve });
        await promise;
      },
      steer: (text) =>
        this.#steer([textInput(text)], AbortSignal.timeout(INTERRUPT_MS)),
      sayNext: (text) => void this.#late.push(textInput(text)),
      now,
    });
  }

  /**
   * Gives Codex an input and yields what it does. Returns its last turn (`Turn`
   * of the app-server) when it has ended.
   *
   * When the signal aborts, it interrupts Codex and rejects with the reason.
   */
  async *run(
    input: TurnInput,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, JsonObject> {
    using _attached = this.#options.server.attach(this.#inbox);
    const asking = new AbortController();
    try {
      let ended = yield* this.#runOnce(
        input,
        AbortSignal.any([signal, asking.signal]),
      );
      await this.#steered;
      while (this.#late.length > 0) {
        const late = this.#late;
        this.#late = [];
        ended = yield* this.#runOnce(
          { input: late },
          AbortSignal.any([signal, asking.signal]),
        );
        await this.#steered;
      }
      return ended;
    } catch (reason) {
      if (signal.aborted) await this.#interrupt();
      throw reason;
    } finally {
      this.#hasEnded = true;
      asking.abort();
    }
  }

  /**
   * Ends what ran when the app-server failed, and waits for the answers to what
   * it asked. Returns them; none when nothing is asked, or when something ran,
   * so that nobody knows how far it got.
   */
  async *outlive(
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, readonly AnsweredCall[]> {
    const { turn } = this.#options;
    const asked: string[] = [];
    let isLost = false;
    for (const key of this.#calls.open) {
      const call = this.#calls.find(key);
      if (call?.status === ToolCallStatus.EXECUTING) {
        isLost = true;
        yield* this.#calls.end(key, LEFT_OPEN);
      } else if (this.#questions.isOwnCall(key)) {
        yield* this.#calls.end(key, CANCELLED);
      } else if (call && !this.#calls.mayAsk(key)) {
        asked.push(call.toolCallId);
      }
    }
    if (isLost) return [];
    return Promise.all(
      asked.map((toolCallId) => awaitAnswer(turn, toolCallId, signal)),
    );
  }

  async *#runOnce(
    { input, context }: TurnInput,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, JsonObject> {
    const { turn, server, threadId, settings } = this.#options;
    this.#mode = turn.task.sessionSettings?.approvalMode;
    const started = await server.request(
      "turn/start",
      {
        ...settings(),
        threadId,
        input: [...input],
        ...(context && { additionalContext: context }),
      },
      signal,
      turn.traceContext(),
    );
    this.#turnId = stringOrEmpty(objectOrEmpty(started.turn).id);
    if (this.#turnId === "") {
      throw new DevtoolError(
        "Codex began a turn without an id",
        Code.Unavailable,
      );
    }
    for (;;) {
      const message = await this.#inbox.takeWithin(
        this.#items.hasNewOutput ? SHOW_INTERVAL_MS : undefined,
        signal,
      );
      if (message?.case === "notification" && this.#isEnd(message)) {
        // Ends the calls that Codex left open, and those that it should have
        // made again and did not.
        const outdated = new Set<string>();
        for (const call of this.#answered.takeRest()) {
          this.#calls.adopt(call.toolCallId, call);
          outdated.add(call.toolCallId);
          // Said in the answer, which clients without the extension see, too.
          yield { case: "text", value: notMadeAgain(call) };
        }
        for (const key of this.#calls.open) {
          yield* this.#calls.end(key, outdated.has(key) ? OUTDATED : LEFT_OPEN);
        }
        yield* this.#items.flush();
        return objectOrEmpty(message.params.turn);
      }
      if (message) yield* await this.#receive(message, signal);
      if (message?.case === "act") message.done();
      yield* this.#items.showOutput(this.#options.now().getTime());
      // Messages that steer Codex are given to it between two items, while no
      // call is open.
      const isBetweenItems =
        message?.case === "notification" && message.method === "item/completed";
      if (isBetweenItems && this.#calls.open.length === 0) {
        const known = turn.task.history.length;
        turn.takeSteering();
        const steering = turn.task.history
          .slice(known)
          .flatMap(inputFromMessage);
        if (turn.task.sessionSettings?.approvalMode !== this.#mode) {
          this.#late.push(...steering);
        } else if (steering.length > 0) {
          await this.#steer(steering, signal);
        }
      }
    }
  }

  async #receive(
    message: Incoming,
    signal: AbortSignal,
  ): Promise<AgentEvent[]> {
    switch (message.case) {
      case "act":
        return message.act();
      case "request":
        this.#questions
          .handle(message, signal)
          .catch((reason: Error) => this.#inbox.fail(reason));
        return [];
      case "notification": {
        const { threadId, turnId } = message.params;
        if (message.method === "serverRequest/resolved") {
          this.#questions.withdraw(message.params);
        }
        // A resumed thread repeats some notifications of earlier turns.
        if (
          threadId === this.#options.threadId &&
          typeof turnId === "string" &&
          turnId !== this.#turnId
        ) {
          return [];
        }
        return this.#items.receive(message.method, message.params);
      }
      default:
        return message satisfies never;
    }
  }

  #isEnd({
    method,
    params,
  }: Extract<ServerMessage, { case: "notification" }>): boolean {
    const { threadId = null, turn } = params;
    const { id = null } = objectOrEmpty(turn);
    // An end that does not say whose it is ends the turn that runs.
    const isOf = (value: JsonValue, own: string): boolean =>
      typeof value !== "string" || value === own;
    return (
      method === "turn/completed" &&
      isOf(threadId, this.#options.threadId) &&
      isOf(id, this.#turnId)
    );
  }

  /**
   * Begins a call, or takes up the one that an earlier run of the turn asked
   * about.
   */
  #begin(itemId: string, call: ItemCall): AgentEvent[] {
    const earlier = this.#answered.takeUp(itemId, call);
    if (earlier) {
      this.#calls.adopt(itemId, earlier);
      return [];
    }
    const open = this.#calls.find(itemId);
    const args = structFromJson(call.args);
    const isOpen = open !== undefined && !isEnded(open);
    if (
      isOpen &&
      open.toolName === call.toolName &&
      canonicalJson(open.inputParameters ?? {}) === canonicalJson(args)
    ) {
      return [];
    }
    // The id of an item is its model's, which may have used it already.
    const { task } = this.#options.turn;
    const isUsed = findToolCall(task, itemId) !== undefined;
    const toolCallId = isUsed ? `${itemId}-${task.sequence}` : itemId;
    return [
      ...(isOpen ? this.#calls.end(itemId, LEFT_OPEN) : []),
      ...this.#calls.add(itemId, {
        toolCallId,
        toolName: call.toolName,
        description: call.description,
        inputParameters: args,
      }),
    ];
  }

  #steer(input: JsonObject[], signal: AbortSignal): Promise<void> {
    const steering = this.#steerTurn(input, signal);
    this.#steered = Promise.allSettled([this.#steered, steering]);
    return steering;
  }

  async #steerTurn(input: JsonObject[], signal: AbortSignal): Promise<void> {
    const { server, threadId } = this.#options;
    const params = { threadId, input, expectedTurnId: this.#turnId };
    const reply = await server.call("turn/steer", params, signal);
    // The turn has ended meanwhile: the input begins the next one.
    if (reply.case === "refused") this.#late.push(...input);
  }

  /** Stops Codex. Ends the process when it does not stop in time. */
  async #interrupt(): Promise<void> {
    const { server, threadId } = this.#options;
    const signal = AbortSignal.timeout(INTERRUPT_MS);
    try {
      await server.request(
        "turn/interrupt",
        { threadId, turnId: this.#turnId },
        signal,
      );
      for (;;) {
        const message = await this.#inbox.take(signal);
        if (message.case === "notification" && this.#isEnd(message)) return;
      }
    } catch {
      await server[Symbol.asyncDispose]();
    }
  }
}

/** Says in words that a call which the user approved has not run. */
function notMadeAgain({ toolName, description = "" }: ToolCall): string {
  const name = oneLine(`${toolName} ${description}`.trim());
  return `\n\n(What you approved did not run, because Codex did not make the call again after it was restarted: ${name})`;
}

const LEFT_OPEN = failedCall(
  "interrupted",
  "Codex ended its turn while the call was open: its outcome is unknown",
);
const OUTDATED = failedCall(
  "approval_outdated",
  "Codex did not make the call again: it did not run",
);
