import type {
  ClientApp,
  CreateElicitationResponse,
  RequestPermissionOutcome,
} from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import { Arrivals } from "@devtool/internal/arrivals";
import { keepStart } from "@devtool/internal/cut-text";
import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import type { ToolCallConfirmation } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { UPDATE } from "./acp-connection.ts";
import {
  ACTION_OPTIONS,
  ALLOW,
  actionCall,
  type ClientAction,
  type ClientGate,
  nameOf,
} from "./client-action.ts";
import { textOfBlock } from "./content.ts";

/** The code of the error of a request that the agent withdrew. */
const REQUEST_CANCELLED = -32800;

/** The maximum number of questions of an agent that are open at a time. */
const MAX_QUESTIONS = 128;

/** The maximum length of what is kept of a late text, in characters. */
const MAX_LATE_LENGTH = 4000;

/** One thing that happens in a turn, in the order in which it arrived. */
export type SessionItem =
  /** An update of the agent: the `update` of a `session/update`. */
  | { readonly case: "update"; readonly value: JsonObject }
  /** What the user is told about the work. */
  | { readonly case: "notice"; readonly value: string }
  /** A question of the agent about a call. */
  | {
      readonly case: "permission";
      readonly value: OpenQuestion<RequestPermissionOutcome>;
    }
  /** A question of the agent that is not about a call. */
  | {
      readonly case: "elicitation";
      readonly value: OpenQuestion<CreateElicitationResponse>;
    }
  /** The agent no longer waits for an answer. */
  | { readonly case: "withdrawn"; readonly value: OpenQuestion<unknown> }
  /** The user answered the question of a call. */
  | { readonly case: "answered"; readonly value: ToolCallConfirmation }
  /** A terminal of the client has new output. */
  | { readonly case: "terminal"; readonly value: string }
  /** An action of the client was done, or failed with an error. */
  | {
      readonly case: "performed";
      readonly value: {
        readonly params: JsonObject;
        readonly error: string | undefined;
      };
    }
  /**
   * The agent answered the prompt with a stop reason. Empty: with something
   * else.
   */
  | { readonly case: "stopped"; readonly value: string }
  /** The agent refused the prompt or has ended. */
  | { readonly case: "failed"; readonly value: unknown };

/** A request of the agent that waits for an answer. */
export interface OpenQuestion<Answer> {
  readonly params: JsonObject;
  /**
   * The action of the client that the answer allows. Undefined for a question
   * of the agent itself.
   */
  readonly action?: ClientAction;
  answer(answer: Answer): void;
}

/**
 * Receives what the agent sends, and keeps it in order while a turn is open.
 */
export class Inbox implements ClientGate {
  readonly #onCommands: (update: JsonObject) => void;
  readonly #onLate: () => void;
  readonly #open = new Set<() => void>();
  #queue: Arrivals<SessionItem> | undefined;
  /** Whether the agent has answered the last prompt. */
  #isAnswered = false;
  /** The notices that came outside of a turn. */
  readonly #early: SessionItem[] = [];
  /** What the agent said since then, for the next turn. */
  #late = "";

  /**
   * @param onCommands called when the agent lists its slash commands
   * @param onLate called when the agent begins to say something after the end
   * of a turn
   */
  constructor(
    onCommands: (update: JsonObject) => void,
    onLate: () => void = () => undefined,
  ) {
    this.#onCommands = onCommands;
    this.#onLate = onLate;
  }

  open(): Arrivals<SessionItem> {
    this.#queue = new Arrivals();
    this.#isAnswered = false;
    for (const item of this.#early.splice(0)) this.#queue.put(item);
    if (this.#late !== "") {
      const value = `After its last turn had ended, the agent said: ${this.#late}`;
      this.#queue.put({ case: "notice", value });
    }
    this.#late = "";
    return this.#queue;
  }

  /** Takes that the agent has answered the prompt: its turn has ended. */
  endPrompt(item: Extract<SessionItem, { case: "stopped" | "failed" }>): void {
    this.put(item);
    this.#isAnswered = true;
  }

  close(): void {
    this.#queue?.abandon();
    this.#queue = undefined;
    for (const cancel of this.#open) cancel();
    this.#open.clear();
  }

  /**
   * Resolves when the turn has taken enough of what arrived. An agent that is
   * faster than its log waits.
   */
  async room(): Promise<void> {
    await this.#queue?.room();
  }

  /** Takes an item of the turn. Outside of one, notices wait for the next. */
  put(item: SessionItem): void {
    if (this.#queue) this.#queue.put(item);
    else if (item.case === "notice") this.#early.push(item);
  }

  register(app: ClientApp): void {
    app.onNotification(UPDATE, objectOrEmpty, ({ params }) => {
      const update = objectOrEmpty(params.update);
      if (update.sessionUpdate === "available_commands_update") {
        this.#onCommands(update);
      }
      // Outside of a turn it is the replay of `session/load`, or a late word
      // about an earlier turn.
      if (this.#isAnswered) {
        this.#keep(update);
      } else {
        this.put({ case: "update", value: update });
      }
    });
    app.onRequest(
      "session/request_permission",
      objectOrEmpty,
      async ({ params, signal }) => ({
        outcome: await this.#ask<RequestPermissionOutcome>(
          signal,
          { outcome: "cancelled" },
          (answer) => ({
            case: "permission",
            value: { params, answer },
          }),
        ),
      }),
    );
    app.onRequest("elicitation/create", objectOrEmpty, ({ params, signal }) =>
      this.#ask<CreateElicitationResponse>(
        signal,
        { action: "cancel" },
        (answer) => ({
          case: "elicitation",
          value: { params, answer },
        }),
      ),
    );
  }

  /**
   * Keeps the text of an update that came after the end of its turn, and the
   * title of a call.
   */
  #keep({ sessionUpdate, content, title }: JsonObject): void {
    let said = "";
    if (sessionUpdate === "agent_message_chunk") {
      said = textOfBlock(objectOrEmpty(content));
    } else if (sessionUpdate === "tool_call") {
      said = `[${stringOrEmpty(title)}]`;
    }
    if (said === "") return;
    if (this.#late === "") this.#onLate();
    this.#late = keepStart(this.#late + said, MAX_LATE_LENGTH);
  }

  async run<Result>(
    action: ClientAction,
    perform: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const queue = this.#queue;
    if (!queue) {
      throw new DevtoolError(
        `${nameOf(action)} is not possible now: no turn is open`,
        Code.FailedPrecondition,
      );
    }
    const params = { toolCall: actionCall(action), options: ACTION_OPTIONS };
    const outcome = await this.#ask<RequestPermissionOutcome>(
      signal,
      { outcome: "cancelled" },
      (answer) => ({
        case: "permission",
        value: { params, action, answer },
      }),
    );
    if (outcome.outcome === "cancelled" || signal.aborted) {
      throw new DevtoolError(`${nameOf(action)} was canceled`, Code.Canceled);
    }
    if (outcome.optionId !== ALLOW) {
      throw new DevtoolError(
        `${nameOf(action)} was not allowed`,
        Code.FailedPrecondition,
      );
    }
    let error: string | undefined;
    try {
      return await perform();
    } catch (reason) {
      error = DevtoolError.from(reason).message;
      throw reason;
    } finally {
      queue.put({ case: "performed", value: { params, error } });
    }
  }

  /**
   * Puts a question into the queue and waits for its answer. Outside of a turn,
   * and beyond the maximum, it is cancelled at once.
   */
  async #ask<Answer>(
    signal: AbortSignal,
    cancelled: Answer,
    itemOf: (
      answer: (value: Answer) => void,
    ) => Extract<SessionItem, { case: "permission" | "elicitation" }>,
  ): Promise<Answer> {
    const queue = this.#queue;
    if (!queue || this.#open.size >= MAX_QUESTIONS) return cancelled;
    const answered = Promise.withResolvers<Answer>();
    const cancel = (): void => answered.resolve(cancelled);
    const item = itemOf(answered.resolve);
    const withdraw = (): void => {
      // A connection that closes aborts all requests, too: those questions stay
      // open.
      if (objectOrEmpty(signal.reason).code !== REQUEST_CANCELLED) return;
      queue.put({ case: "withdrawn", value: item.value });
      cancel();
    };
    this.#open.add(cancel);
    signal.addEventListener("abort", withdraw, { once: true });
    queue.put(item);
    try {
      return await answered.promise;
    } finally {
      this.#open.delete(cancel);
      signal.removeEventListener("abort", withdraw);
    }
  }
}
