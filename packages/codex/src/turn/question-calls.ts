import type { JsonObject } from "@bufbuild/protobuf";
import { defined, stringOrEmpty } from "@devtool/internal/json";
import {
  answerText,
  isEnded,
  OPTION_CANCEL,
  structFromJson,
  type ToolCallConfirmation,
} from "@devtool/schema";
import { type AgentEvent, ANSWERED, type Turn } from "@devtool/server/agent";
import type { Approval } from "./approval.ts";
import type { CallBook } from "./call-book.ts";
import { wordsOf } from "./odd-value.ts";

/** Dependencies of `QuestionCalls`. */
export interface QuestionCallsOptions {
  readonly turn: Turn;
  readonly calls: CallBook;
  /**
   * Makes events and yields them in the order of the turn. Resolves when the
   * consumer of the turn asks for the next event.
   */
  readonly publish: (make: () => AgentEvent[]) => Promise<void>;
}

/**
 * The tool calls by which a turn asks its user: those of Codex's items, and
 * calls of its own for questions that belong to no item.
 */
export class QuestionCalls {
  readonly #options: QuestionCallsOptions;
  /** The calls that are only questions. */
  readonly #own = new Set<string>();

  constructor(options: QuestionCallsOptions) {
    this.#options = options;
  }

  /** Whether a call is only a question. */
  isOwn(key: string): boolean {
    return this.#own.has(key);
  }

  /**
   * Adds a call that only asks. Returns its key.
   *
   * @param about the arguments of what it asks about, and the item; default:
   * none, and the item of the parameters, if they name one
   */
  async add(
    name: string,
    toolName: string,
    params: JsonObject,
    about: {
      readonly itemId?: string | undefined;
      readonly args?: JsonObject;
    } = {},
  ): Promise<string> {
    const { calls, publish, turn } = this.#options;
    // Codex may use the id of a request again.
    const key = `${turn.task.sequence}-${name}-${this.#own.size + 1}`;
    this.#own.add(key);
    const { itemId = stringOrEmpty(params.itemId), args } = about;
    // Codex works on nothing else while it waits for the answer.
    const open = calls.open.find((each) => !this.#own.has(each));
    const parent = calls.find(itemId) ?? calls.find(open ?? "");
    const description =
      wordsOf(params.reason) || wordsOf(params.message) || "Codex asks";
    await publish(() =>
      calls.add(
        key,
        defined({
          toolCallId: key,
          toolName,
          description,
          inputParameters: args && structFromJson(args),
        }),
        parent && !isEnded(parent) ? parent.toolCallId : undefined,
      ),
    );
    return key;
  }

  /** Asks the user about a call, and returns the answer. */
  async ask(
    key: string,
    { request }: Approval,
    signal: AbortSignal,
  ): Promise<ToolCallConfirmation> {
    const { turn, calls, publish } = this.#options;
    const toolCallId = calls.find(key)?.toolCallId ?? key;
    turn.confirmations.open(toolCallId);
    await publish(() => calls.ask(key, request));
    try {
      const answer = await turn.confirmations.wait(toolCallId, signal);
      // The answer is in the log.
      if (answer.selectedOptionId === OPTION_CANCEL) {
        calls.markCancelled(key);
      } else {
        calls.markAnswered(key);
      }
      return answer;
    } catch (reason) {
      await publish(() => calls.withdraw(key));
      throw reason;
    }
  }

  /** Ends a call that only asked. */
  async end(key: string, optionId: string): Promise<void> {
    const { calls, publish } = this.#options;
    if (optionId !== OPTION_CANCEL) {
      await publish(() => calls.end(key, ANSWERED));
    }
  }

  /**
   * Returns the text that the user sent together with an answer. It is not
   * trimmed, since it may be a password.
   */
  textOf({ toolCallId }: ToolCallConfirmation): string {
    return answerText(this.#options.turn.task, toolCallId);
  }
}
