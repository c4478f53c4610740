import { canonicalJson } from "@devtool/internal/json";
import {
  confirmationsOf,
  findToolCall,
  findToolCallDetail,
  structFromJson,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStage,
} from "@devtool/schema";
import {
  Code,
  DevtoolError,
  ExternalCall,
  quoted,
  type Turn,
} from "@devtool/server/agent";
import type { Approval } from "./approval.ts";
import type { ItemCall } from "./item-call.ts";

/**
 * A call that waited for its user when the server stopped, and the answer that
 * came since.
 */
export interface AnsweredCall {
  readonly call: ToolCall;
  readonly answer: ToolCallConfirmation;
  /** `ExternalCall.digest` of what the user was shown. */
  readonly digest: Uint8Array;
}

/**
 * The calls of a turn that were answered before its app-server ended. Codex
 * makes them again, as items with other ids, and asks again.
 */
export class AnsweredCalls {
  /** Those that Codex has not made again yet. */
  #left: readonly AnsweredCall[];
  /** Those that it has made again and not asked about yet, by item. */
  readonly #madeAgain = new Map<string, AnsweredCall>();

  constructor(answered: readonly AnsweredCall[]) {
    this.#left = answered;
  }

  /**
   * Returns the call that an item makes again: one with the same tool and the
   * same arguments. Undefined for a new call.
   */
  takeUp(itemId: string, { toolName, args }: ItemCall): ToolCall | undefined {
    const wanted = canonicalJson(structFromJson(args));
    const again = this.#left.find(
      ({ call }) =>
        call.toolName === toolName &&
        canonicalJson(call.inputParameters ?? {}) === wanted,
    );
    if (!again) return undefined;
    this.#left = this.#left.filter((answered) => answered !== again);
    this.#madeAgain.set(itemId, again);
    return again.call;
  }

  /**
   * Returns the answer to a question about an item, once. Undefined when there
   * is none, or when it was given to another question.
   */
  takeAnswer(
    itemId: string,
    { request, results }: Approval,
  ): ToolCallConfirmation | undefined {
    const earlier = this.#madeAgain.get(itemId);
    this.#madeAgain.delete(itemId);
    if (!earlier || !results.has(earlier.answer.selectedOptionId)) {
      return undefined;
    }
    const { call } = earlier;
    const asked = new ExternalCall({
      described: () => call,
      recorded: () => undefined,
    });
    const digest = asked.digest(request);
    return Buffer.from(earlier.digest).equals(digest)
      ? earlier.answer
      : undefined;
  }

  /** Returns the calls that Codex has not made again, and forgets them. */
  takeRest(): ToolCall[] {
    const calls = this.#left.map(({ call }) => call);
    this.#left = [];
    return calls;
  }
}

/**
 * Returns the answer to a call that asks: the one that the task has already, or
 * the one that its user gives now.
 */
export async function awaitAnswer(
  turn: Turn,
  toolCallId: string,
  signal: AbortSignal,
): Promise<AnsweredCall> {
  turn.confirmations.open(toolCallId);
  const detail = findToolCallDetail(turn.task, toolCallId);
  const isOpen = detail?.stage === ToolCallStage.AWAITING_APPROVAL;
  const recorded = isOpen
    ? undefined
    : turn.task.history.flatMap(confirmationsOf);
  const given = recorded?.findLast(
    (answer) => answer.toolCallId === toolCallId,
  );
  const answer = given ?? (await turn.confirmations.wait(toolCallId, signal));
  const call = findToolCall(turn.task, toolCallId);
  if (!call) {
    throw new DevtoolError(
      `tool call ${quoted(toolCallId)} is not in the task`,
      Code.Internal,
    );
  }
  return { call, answer, digest: detail?.digest ?? new Uint8Array() };
}
