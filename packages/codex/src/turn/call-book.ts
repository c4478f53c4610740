import { createHash } from "node:crypto";
import { create, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { canonicalJson } from "@devtool/internal/json";
import {
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  isAwaitingApproval,
  isEnded,
  type ToolCall,
  type ToolCallDetail,
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type AgentEvent,
  type CallUpdate,
  changedDetail,
  type PermissionDecision,
  toolFailure,
} from "@devtool/server/agent";

/** The result of a tool call. */
export type CallResult = ToolCall["result"];

/** How a call ends. */
export interface CallEnd {
  readonly status:
    | ToolCallStatus.SUCCEEDED
    | ToolCallStatus.FAILED
    | ToolCallStatus.CANCELLED;
  readonly result: CallResult;
}

/** The end of a call that was declined or canceled. */
export const CANCELLED: CallEnd = {
  status: ToolCallStatus.CANCELLED,
  result: { case: undefined },
};

/**
 * The rule that the audit log names for a call about which Codex asked nobody.
 */
const CODEX_DECIDED: Partial<ToolCallDetail> = {
  rule: "agent",
  reason: "Codex did not ask",
};

/**
 * SHA-256 of a call as its user is asked to approve it: an answer is valid only
 * for a call with the same one.
 */
export function approvalDigest(
  call: ToolCall,
  confirmationRequest: ConfirmationRequest,
): Uint8Array {
  const shown = toJson(ConfirmationRequestSchema, confirmationRequest);
  const asked = [call.toolName, call.inputParameters ?? {}, shown];
  return createHash("sha256").update(canonicalJson(asked)).digest();
}

/**
 * The tool calls of one turn, by the id of their item.
 *
 * Each change returns the events that publish it. A call moves only as the RFC
 * allows: it executes before it succeeds, and an ended call does not change,
 * whatever the app-server reports.
 */
export class CallBook {
  readonly #calls = new Map<string, ToolCall>();
  /** The details of the calls that this turn made, as far as it gave some. */
  readonly #details = new Map<string, ToolCallDetail>();
  /** The calls of which nobody knows yet whether they ask or run. */
  readonly #undecided = new Set<string>();

  /** Finds a call. Undefined when the turn has no such call. */
  find(key: string): ToolCall | undefined {
    return this.#calls.get(key);
  }

  /**
   * Finds the key of the call that runs a tool of an MCP server; of any call
   * that runs, if none does.
   */
  findRunning(serverName: string): string | undefined {
    const running = [...this.#calls].filter(
      ([, { status }]) => status === ToolCallStatus.EXECUTING,
    );
    const own = running.find(([, { toolName }]) =>
      toolName.startsWith(`mcp__${serverName}__`),
    );
    return (own ?? running[0])?.[0];
  }

  /**
   * The keys of the calls that have not ended, in the order in which they were
   * made.
   */
  get open(): readonly string[] {
    return [...this.#calls]
      .filter(([, call]) => !isEnded(call))
      .map(([key]) => key);
  }

  /** Adds a call that the task has already. */
  adopt(key: string, call: ToolCall): void {
    this.#calls.set(key, call);
  }

  /**
   * Adds a new call, as PENDING. `parent` is the id of the running call that it
   * asks a question for.
   */
  add(
    key: string,
    fields: MessageInitShape<typeof ToolCallSchema>,
    parent?: string,
  ): AgentEvent[] {
    const call = create(ToolCallSchema, {
      ...fields,
      status: ToolCallStatus.PENDING,
    });
    const detail = create(ToolCallDetailSchema, {
      stage: ToolCallStage.VALIDATING,
      parentToolCallId: parent ?? "",
    });
    this.#undecided.add(key);
    this.#details.set(key, detail);
    return this.#publish(key, [{ call, detail }]);
  }

  /** Whether a call can still ask its user. */
  mayAsk(key: string): boolean {
    return this.#undecided.has(key);
  }

  /** Asks the user about a call, if it can still ask. */
  ask(key: string, confirmationRequest: ConfirmationRequest): AgentEvent[] {
    if (!this.#undecided.delete(key)) return [];
    return this.#change(key, (call) => {
      const detail = this.#detail(key, {
        digest: approvalDigest(call, confirmationRequest),
      });
      return [{ call: { ...call, confirmationRequest }, detail }];
    });
  }

  /** Records that a rule allows a call, if it can still ask. */
  allow(
    key: string,
    { rule }: Extract<PermissionDecision, { case: "allow" }>,
  ): AgentEvent[] {
    if (!this.#undecided.delete(key)) return [];
    const decided = {
      stage: ToolCallStage.SCHEDULED,
      rule,
      reason: "the policy allows it",
    };
    return this.#change(key, (call) => [
      { call: unasked(call), detail: this.#detail(key, decided) },
    ]);
  }

  /** Ends a call that a rule denies. */
  deny(
    key: string,
    { rule, reason }: Extract<PermissionDecision, { case: "deny" }>,
  ): AgentEvent[] {
    this.#undecided.delete(key);
    return this.#change(key, (call) => {
      const result = {
        case: "error" as const,
        value: toolFailure("policy_violation", reason),
      };
      const detail = this.#detail(key, {
        stage: ToolCallStage.FAILED,
        rule,
        reason,
      });
      return [
        {
          call: { ...unasked(call), status: ToolCallStatus.FAILED, result },
          detail,
        },
      ];
    });
  }

  /**
   * Records that a call no longer asks, because the app-server has withdrawn
   * the question.
   */
  withdraw(key: string): AgentEvent[] {
    return this.#change(key, (call) =>
      isAwaitingApproval(call) ? [{ call: unasked(call) }] : [],
    );
  }

  /** Records what the session has recorded: that the user agreed to a call. */
  markAnswered(key: string): void {
    const call = this.#calls.get(key);
    if (call) this.#calls.set(key, unasked(call));
  }

  /** Records what the session has recorded: that the user declined a call. */
  markCancelled(key: string): void {
    const call = this.#calls.get(key);
    if (call) {
      this.#calls.set(key, {
        ...unasked(call),
        status: ToolCallStatus.CANCELLED,
      });
    }
  }

  /** Records that a call runs. */
  run(key: string): AgentEvent[] {
    return this.#change(key, (call) => this.#begin(key, call));
  }

  /** Shows the output of a call so far. The call runs. */
  show(key: string, liveContent: string): AgentEvent[] {
    return this.#change(key, (call) => [
      ...this.#begin(key, call),
      {
        call: {
          ...unasked(call),
          status: ToolCallStatus.EXECUTING,
          liveContent,
        },
      },
    ]);
  }

  /** Ends a call. */
  end(key: string, { status, result }: CallEnd): AgentEvent[] {
    return this.#change(key, ({ liveContent: _shown, ...call }) => {
      const before =
        status === ToolCallStatus.SUCCEEDED ? this.#begin(key, call) : [];
      this.#undecided.delete(key);
      return [...before, { call: { ...unasked(call), status, result } }];
    });
  }

  /**
   * The versions of a call up to the one that runs; none if it runs already.
   */
  #begin(key: string, call: ToolCall): CallUpdate[] {
    if (call.status !== ToolCallStatus.PENDING) return [];
    const running = {
      call: { ...unasked(call), status: ToolCallStatus.EXECUTING },
    };
    if (!this.#undecided.delete(key)) return [running];
    const detail = this.#detail(key, {
      ...CODEX_DECIDED,
      stage: ToolCallStage.SCHEDULED,
    });
    return [{ call: unasked(call), detail }, running];
  }

  #detail(key: string, change: Partial<ToolCallDetail>): ToolCallDetail {
    const detail = changedDetail(this.#details.get(key), change);
    this.#details.set(key, detail);
    return detail;
  }

  #change(key: string, change: (call: ToolCall) => CallUpdate[]): AgentEvent[] {
    const call = this.#calls.get(key);
    return call && !isEnded(call) ? this.#publish(key, change(call)) : [];
  }

  #publish(key: string, updates: CallUpdate[]): AgentEvent[] {
    const last = updates.at(-1);
    if (!last) return [];
    this.#calls.set(key, last.call);
    return [{ case: "toolCalls", value: updates }];
  }
}

function unasked({ confirmationRequest: _asked, ...call }: ToolCall): ToolCall {
  return call;
}
