import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ConfirmationRequest,
  isAwaitingApproval,
  isEnded,
  type ToolCall,
  ToolCallSchema,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type AgentEvent,
  CANCELLED,
  type CallEnd,
  type CallUpdate,
  ExternalCall,
  failedCall,
  type PermissionDecision,
} from "@devtool/server/agent";

/**
 * The tool calls of one turn, by the id of their item.
 *
 * Each change returns the events that publish it. They may be recorded later
 * than they are made, so the last versions are kept here.
 */
export class CallBook {
  /** The last version of each call. */
  readonly #calls = new Map<string, CallUpdate>();

  /** Finds a call. Undefined when the turn has no such call. */
  find(key: string): ToolCall | undefined {
    return this.#calls.get(key)?.call;
  }

  /**
   * Finds the key of the call that runs a tool of an MCP server; of any call
   * that runs, if none does.
   */
  findRunning(serverName: string): string | undefined {
    const running = [...this.#calls].filter(
      ([, { call }]) => call.status === ToolCallStatus.EXECUTING,
    );
    const own = running.find(([, { call }]) =>
      call.toolName.startsWith(`mcp__${serverName}__`),
    );
    return (own ?? running[0])?.[0];
  }

  /**
   * The keys of the calls that have not ended, in the order in which they were
   * made.
   */
  get open(): readonly string[] {
    return [...this.#calls]
      .filter(([, { call }]) => !isEnded(call))
      .map(([key]) => key);
  }

  /** Adds a call that the task has already. */
  adopt(key: string, call: ToolCall): void {
    this.#calls.set(key, { call });
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
    const described = create(ToolCallSchema, fields);
    const call = new ExternalCall({
      described: () => described,
      recorded: () => undefined,
    });
    return this.#publish(key, call.announced(parent));
  }

  /** Whether a call can still ask its user. */
  mayAsk(key: string): boolean {
    return this.#calls.get(key)?.detail?.stage === ToolCallStage.VALIDATING;
  }

  /** Asks the user about a call, if it can still ask. */
  ask(key: string, request: ConfirmationRequest): AgentEvent[] {
    if (!this.mayAsk(key)) return [];
    return this.#change(key, (call) => call.asking(request));
  }

  /** Records that a rule allows a call, if it can still ask. */
  allow(
    key: string,
    { rule }: Extract<PermissionDecision, { case: "allow" }>,
  ): AgentEvent[] {
    const reason = "the policy allows it";
    return this.#change(key, (call) => call.allowed(rule, reason));
  }

  /** Ends a call that a rule denies. */
  deny(
    key: string,
    { rule, reason }: Extract<PermissionDecision, { case: "deny" }>,
  ): AgentEvent[] {
    const end = failedCall("policy_violation", reason);
    return this.#change(key, (call) => call.ended(end, { rule, reason }));
  }

  /**
   * Records that a call no longer asks, because the app-server has withdrawn
   * the question.
   */
  withdraw(key: string): AgentEvent[] {
    const call = this.find(key);
    if (!call || !isAwaitingApproval(call)) return [];
    return this.#publish(key, [{ call: unasked(call) }]);
  }

  /** Takes what is in the log: that the user agreed to a call. */
  markAnswered(key: string): void {
    const call = this.find(key);
    if (call) this.adopt(key, unasked(call));
  }

  /** Takes what is in the log: that the user declined a call. */
  markCancelled(key: string): void {
    this.end(key, CANCELLED);
  }

  /** Records that a call runs. */
  run(key: string): AgentEvent[] {
    const runs = this.find(key)?.status === ToolCallStatus.EXECUTING;
    return runs ? [] : this.#change(key, (call) => call.executing());
  }

  /** Shows the output of a call so far. The call runs. */
  show(key: string, liveContent: string): AgentEvent[] {
    return this.#change(key, (call) => call.executing(liveContent));
  }

  /** Ends a call. */
  end(key: string, end: CallEnd): AgentEvent[] {
    return this.#change(key, (call) => call.ended(end));
  }

  #change(
    key: string,
    change: (call: ExternalCall) => CallUpdate[],
  ): AgentEvent[] {
    const last = this.#calls.get(key);
    if (!last) return [];
    const source = { described: () => last.call, recorded: () => last };
    return this.#publish(key, change(new ExternalCall(source)));
  }

  #publish(key: string, updates: CallUpdate[]): AgentEvent[] {
    const last = updates.at(-1);
    if (!last) return [];
    this.#calls.set(key, last);
    return [{ case: "toolCalls", value: updates }];
  }
}

function unasked({ confirmationRequest: _asked, ...call }: ToolCall): ToolCall {
  return call;
}
