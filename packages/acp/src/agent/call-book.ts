import { createHash } from "node:crypto";
import { create, equals, type JsonObject, toJson } from "@bufbuild/protobuf";
import {
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  type FileDiff,
  findToolCallDetail,
  findToolCallPart,
  isEnded,
  structFromJson,
  type Task,
  type ToolCall,
  type ToolCallDetail,
  ToolCallSchema,
  ToolCallStage,
  ToolCallStatus,
  ToolOutputSchema,
} from "@devtool/schema";
import { canonicalJson, defined, stringOrEmpty } from "@devtool/schema/json";
import {
  type CallUpdate,
  changedDetail,
  type FailureType,
  toolFailure,
} from "@devtool/server/agent";
import { DescribedCall, type TerminalOutput } from "./described-call.ts";

const MAX_ID_LENGTH = 200;
/**
 * The rule that the audit log names for a call about which the agent asked
 * nobody.
 */
const AGENT_DECIDED = "agent";

/** The dependencies of `CallBook`. */
export interface CallBookOptions {
  /** Returns the present state of the task. */
  readonly task: () => Task;
  readonly terminalOutput: TerminalOutput;
}

/**
 * The tool calls of one turn. An agent reports a call in pieces: any of
 * `tool_call`, `tool_call_update` and `session/request_permission` may be the
 * first to mention it.
 *
 * A method that is named after a stage returns the versions of the call that
 * bring the log to this stage: several when the log lacks earlier stages, none
 * when the call cannot reach it. A call that has ended stays as it is, whatever
 * the agent reports later.
 */
export class CallBook {
  readonly #options: CallBookOptions;
  /**
   * The calls of the agent by its own ids, and those of the client by symbols.
   */
  readonly #calls = new Map<string | symbol, DescribedCall>();

  constructor(options: CallBookOptions) {
    this.#options = options;
  }

  /**
   * Takes a piece of a call, without a change of its status. Returns its id in
   * our task; undefined for an old call.
   */
  merge(piece: JsonObject, isNews: boolean): string | undefined {
    const agentId = stringOrEmpty(piece.toolCallId);
    if (agentId === "") return undefined;
    let known = this.#calls.get(agentId);
    if (!known) {
      const base =
        agentId.length > MAX_ID_LENGTH
          ? createHash("sha256").update(agentId).digest("hex")
          : agentId;
      const earlier = findToolCallPart(this.#options.task(), base)?.content;
      // A late word about a call of an earlier turn.
      if (earlier?.case === "toolCall" && isEnded(earlier.value) && !isNews) {
        return undefined;
      }
      known = new DescribedCall(
        this.freeId(base),
        this.#options.terminalOutput,
      );
      this.#calls.set(agentId, known);
    }
    known.take(piece);
    return known.id;
  }

  /**
   * Takes what the agent's own terminal has printed since the last update,
   * which has no field in the protocol: it stands in the `_meta` that Zed
   * introduced and Codex sends. Other than `merge`, it takes each update once.
   */
  appendOutput(id: string, update: JsonObject): void {
    this.#find(id)?.appendOutput(update);
  }

  /**
   * Begins a call that the client makes for the agent: nothing that the agent
   * says changes it. Returns its id in our task.
   */
  begin(call: JsonObject): string {
    const known = new DescribedCall(
      this.freeId(stringOrEmpty(call.name)),
      this.#options.terminalOutput,
    );
    known.take(call);
    this.#calls.set(Symbol(known.id), known);
    return known.id;
  }

  /**
   * Takes a call as one that our task has already: the agent asks again after a
   * restart.
   */
  adopt(id: string, earlierId: string): void {
    const known = this.#find(id);
    if (known) known.id = earlierId;
  }

  /**
   * The versions of a call for a status of ACP; `pending` when the agent gave
   * none.
   */
  withStatus(id: string, status: string): CallUpdate[] {
    switch (status) {
      case "in_progress":
        return this.executing(id);
      case "completed":
        return this.succeeded(id);
      case "failed":
        return this.failed(
          id,
          "execution_failed",
          this.#find(id)?.text || "the call failed",
        );
      default:
        return this.pending(id);
    }
  }

  pending(id: string): CallUpdate[] {
    const stage = this.stage(id);
    if (stage === ToolCallStage.EXECUTING) return this.executing(id);
    if (
      stage !== ToolCallStage.UNSPECIFIED &&
      stage !== ToolCallStage.VALIDATING
    ) {
      return [];
    }
    const detail = this.#detail(id, { stage: ToolCallStage.VALIDATING });
    return [{ call: this.#call(id, ToolCallStatus.PENDING), detail }];
  }

  /** The agent may run the call: `rule` says who decided that. */
  allowed(id: string, rule: string, reason: string): CallUpdate[] {
    const stage = this.stage(id);
    if (
      stage !== ToolCallStage.UNSPECIFIED &&
      stage !== ToolCallStage.VALIDATING
    ) {
      return [];
    }
    const detail = this.#detail(id, {
      stage: ToolCallStage.SCHEDULED,
      rule,
      reason,
    });
    return [{ call: this.#call(id, ToolCallStatus.PENDING), detail }];
  }

  executing(id: string): CallUpdate[] {
    const before = this.allowed(id, AGENT_DECIDED, "the agent did not ask");
    const stage = before.length > 0 ? ToolCallStage.SCHEDULED : this.stage(id);
    if (
      stage !== ToolCallStage.SCHEDULED &&
      stage !== ToolCallStage.EXECUTING
    ) {
      return [];
    }
    const text = this.#find(id)?.text ?? "";
    const live = text === "" ? {} : { liveContent: text };
    const call = { ...this.#call(id, ToolCallStatus.EXECUTING), ...live };
    const recorded = findToolCallPart(this.#options.task(), id)?.content;
    const isKnown =
      recorded?.case === "toolCall" &&
      equals(ToolCallSchema, recorded.value, call);
    return isKnown ? [] : [...before, { call }];
  }

  succeeded(id: string): CallUpdate[] {
    const stage = this.stage(id);
    if (stage === ToolCallStage.AWAITING_APPROVAL) {
      return this.failed(
        id,
        "execution_failed",
        "the agent ran the call without waiting for the answer",
      );
    }
    const before = stage === ToolCallStage.EXECUTING ? [] : this.executing(id);
    if (stage !== ToolCallStage.EXECUTING && before.length === 0) return [];
    const value = create(ToolOutputSchema, {
      result: this.#find(id)?.result ?? { case: undefined },
    });
    return [
      ...before,
      {
        call: {
          ...this.#call(id, ToolCallStatus.SUCCEEDED),
          result: { case: "output", value },
        },
      },
    ];
  }

  failed(
    id: string,
    type: FailureType,
    message: string,
    decision: Partial<ToolCallDetail> = {},
  ): CallUpdate[] {
    const stage = this.stage(id);
    if (stage >= ToolCallStage.SUCCEEDED) return [];
    const before = stage === ToolCallStage.UNSPECIFIED ? this.pending(id) : [];
    const value = toolFailure(type, message, this.#find(id)?.exitCode);
    const call = {
      ...this.#call(id, ToolCallStatus.FAILED),
      result: { case: "error" as const, value },
    };
    return [
      ...before,
      {
        call,
        detail: this.#detail(id, { ...decision, stage: ToolCallStage.FAILED }),
      },
    ];
  }

  /** The version of a call in our task whose question the agent withdrew. */
  cancelled(id: string): CallUpdate[] {
    const content = findToolCallPart(this.#options.task(), id)?.content;
    if (content?.case !== "toolCall" || isEnded(content.value)) return [];
    const { confirmationRequest: _closed, ...call } = content.value;
    return [{ call: { ...call, status: ToolCallStatus.CANCELLED } }];
  }

  /**
   * The version of a call that asks the user; none for a call that can no
   * longer ask.
   */
  asking(id: string, options: ConfirmationRequest["options"]): CallUpdate[] {
    const stage = this.stage(id);
    if (stage > ToolCallStage.AWAITING_APPROVAL) return [];
    const confirmationRequest = create(ConfirmationRequestSchema, {
      options,
      details: this.detailsOf(id),
    });
    const detail = this.#detail(id, {
      stage: ToolCallStage.AWAITING_APPROVAL,
      digest: this.digestOf(id),
    });
    return [
      {
        call: {
          ...this.#call(id, ToolCallStatus.PENDING),
          confirmationRequest,
        },
        detail,
      },
    ];
  }

  /**
   * The question about a call that runs already, as a call of its own: a call
   * that runs cannot wait again.
   *
   * @param questionId the id of the question in our task
   */
  askingWhileRunning(
    id: string,
    questionId: string,
    options: ConfirmationRequest["options"],
  ): CallUpdate {
    const confirmationRequest = create(ConfirmationRequestSchema, {
      options,
      details: this.detailsOf(id),
    });
    const call = {
      ...this.#call(id, ToolCallStatus.PENDING),
      toolCallId: questionId,
      confirmationRequest,
    };
    return {
      call,
      detail: changedDetail(undefined, {
        parentToolCallId: id,
        digest: this.digestOf(id),
      }),
    };
  }

  /**
   * The versions that end a question which is a call of its own, after its
   * answer.
   */
  endQuestion(id: string): CallUpdate[] {
    const content = findToolCallPart(this.#options.task(), id)?.content;
    if (
      content?.case !== "toolCall" ||
      this.stage(id) !== ToolCallStage.SCHEDULED
    ) {
      return [];
    }
    const { confirmationRequest: _answered, ...call } = content.value;
    return [
      { call: { ...call, status: ToolCallStatus.EXECUTING } },
      { call: { ...call, status: ToolCallStatus.SUCCEEDED } },
    ];
  }

  /**
   * SHA-256 of what the user is asked to approve: an answer is valid only for a
   * call with the same one.
   */
  digestOf(id: string): Uint8Array {
    const {
      toolName,
      inputParameters,
      description = "",
    } = this.#call(id, ToolCallStatus.PENDING);
    const request = create(ConfirmationRequestSchema, {
      details: this.detailsOf(id),
    });
    const shown = [
      toolName,
      description,
      inputParameters ?? {},
      toJson(ConfirmationRequestSchema, request),
    ];
    return createHash("sha256").update(canonicalJson(shown)).digest();
  }

  /**
   * What the user is asked to approve: a command, a change of a file, a call of
   * an MCP server, or words.
   */
  detailsOf(id: string): ConfirmationRequest["details"] {
    return this.#find(id)?.details ?? { case: undefined };
  }

  toolName(id: string): string {
    return this.#find(id)?.toolName ?? "other";
  }

  /** What kind of call it is; `edit` whenever it shows changes of files. */
  kind(id: string): string {
    return this.#find(id)?.kind ?? "other";
  }

  title(id: string): string {
    return this.#find(id)?.title ?? "";
  }

  input(id: string): JsonObject {
    return this.#find(id)?.input ?? {};
  }

  paths(id: string): readonly string[] {
    return this.#find(id)?.paths ?? [];
  }

  /** The changes of files that a call makes. */
  diffs(id: string): FileDiff[] {
    return this.#find(id)?.diffs ?? [];
  }

  /** The ids of the calls of this turn that have not ended. */
  open(): string[] {
    return [...this.#calls.values()]
      .map(({ id }) => id)
      .filter(
        (id) =>
          this.stage(id) < ToolCallStage.SUCCEEDED &&
          this.stage(id) !== ToolCallStage.UNSPECIFIED,
      );
  }

  /**
   * Returns an id that no call of the task has. An agent may choose any id for
   * its calls.
   */
  freeId(base: string): string {
    const task = this.#options.task();
    let id = base;
    for (
      let number = 2;
      findToolCallPart(task, id) || this.#find(id);
      number++
    ) {
      id = `${base}~${number}`;
    }
    return id;
  }

  /** The ids of the calls that show a terminal. */
  callsWithTerminal(terminalId: string): string[] {
    return [...this.#calls.values()]
      .filter((known) => known.showsTerminal(terminalId))
      .map(({ id }) => id);
  }

  #find(id: string): DescribedCall | undefined {
    return this.#calls.values().find((known) => known.id === id);
  }

  /** Returns the stage of a call in the log. */
  stage(id: string): ToolCallStage {
    return (
      findToolCallDetail(this.#options.task(), id)?.stage ??
      ToolCallStage.UNSPECIFIED
    );
  }

  #detail(id: string, change: Partial<ToolCallDetail>): ToolCallDetail {
    return changedDetail(findToolCallDetail(this.#options.task(), id), change);
  }

  #call(id: string, status: ToolCallStatus): ToolCall {
    const description = this.#find(id)?.description || undefined;
    const fields = {
      toolCallId: id,
      toolName: this.toolName(id),
      status,
      description,
    };
    return create(
      ToolCallSchema,
      defined({ ...fields, inputParameters: structFromJson(this.input(id)) }),
    );
  }
}
