import { createHash } from "node:crypto";
import { create, equals, toJson } from "@bufbuild/protobuf";
import { canonicalJson, defined } from "@devtool/internal/json";
import {
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  findToolCall,
  findToolCallDetail,
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
import {
  type CallUpdate,
  changedDetail,
  type FailureType,
  toolFailure,
} from "@devtool/server/agent";
import type { DescribedCall } from "./described-call.ts";

/**
 * The rule that the audit log names for a call about which the agent asked
 * nobody.
 */
const AGENT_DECIDED = "agent";

/**
 * A call of our task: as the agent has described it so far, and as the log has
 * it.
 *
 * A method that is named after a stage returns the versions of the call that
 * bring the log to this stage: several when the log lacks earlier stages, none
 * when the call cannot reach it. A call that has ended stays as it is, whatever
 * the agent reports later.
 */
export class TurnCall {
  /** The id of the call in our task. */
  readonly id: string;
  readonly described: DescribedCall;
  readonly #task: () => Task;

  /** @param task returns the present state of the task */
  constructor(id: string, described: DescribedCall, task: () => Task) {
    this.id = id;
    this.described = described;
    this.#task = task;
  }

  /** The stage of the call in the log; unspecified before it is there. */
  get stage(): ToolCallStage {
    return (
      findToolCallDetail(this.#task(), this.id)?.stage ??
      ToolCallStage.UNSPECIFIED
    );
  }

  /**
   * The versions for a status of ACP; those of `pending` when the agent gave
   * none.
   */
  withStatus(status: string): CallUpdate[] {
    switch (status) {
      case "in_progress":
        return this.executing();
      case "completed":
        return this.succeeded();
      case "failed":
        return this.failed(
          "execution_failed",
          this.described.text || "the call failed",
        );
      default:
        return this.pending();
    }
  }

  /** The version of a call that the agent has announced. */
  pending(): CallUpdate[] {
    if (this.stage === ToolCallStage.EXECUTING) return this.executing();
    if (this.stage > ToolCallStage.VALIDATING) return [];
    const detail = this.#detail({ stage: ToolCallStage.VALIDATING });
    return [{ call: this.#call(ToolCallStatus.PENDING), detail }];
  }

  /**
   * The version of a call that may run without a question.
   *
   * @param rule the rule that allows it, and `reason` why, for the audit log
   */
  allowed(rule: string, reason: string): CallUpdate[] {
    if (this.stage > ToolCallStage.VALIDATING) return [];
    const detail = this.#detail({
      stage: ToolCallStage.SCHEDULED,
      rule,
      reason,
    });
    return [{ call: this.#call(ToolCallStatus.PENDING), detail }];
  }

  /** The versions of a call that runs, with its output so far. */
  executing(): CallUpdate[] {
    const before = this.allowed(AGENT_DECIDED, "the agent did not ask");
    const stage = before.length > 0 ? ToolCallStage.SCHEDULED : this.stage;
    if (
      stage !== ToolCallStage.SCHEDULED &&
      stage !== ToolCallStage.EXECUTING
    ) {
      return [];
    }
    const { text } = this.described;
    const live = text === "" ? {} : { liveContent: text };
    const call = { ...this.#call(ToolCallStatus.EXECUTING), ...live };
    const recorded = findToolCall(this.#task(), this.id);
    const isKnown = recorded && equals(ToolCallSchema, recorded, call);
    return isKnown ? [] : [...before, { call }];
  }

  /** The versions of a call that succeeded, with its result. */
  succeeded(): CallUpdate[] {
    const { stage } = this;
    if (stage === ToolCallStage.AWAITING_APPROVAL) {
      return this.failed(
        "execution_failed",
        "the agent ran the call without waiting for the answer",
      );
    }
    const before = stage === ToolCallStage.EXECUTING ? [] : this.executing();
    if (stage !== ToolCallStage.EXECUTING && before.length === 0) return [];
    const value = create(ToolOutputSchema, {
      result: this.described.result,
    });
    return [
      ...before,
      {
        call: {
          ...this.#call(ToolCallStatus.SUCCEEDED),
          result: { case: "output", value },
        },
      },
    ];
  }

  /**
   * The versions of a call that failed.
   *
   * @param decision who decided that it may not run, if somebody did
   */
  failed(
    type: FailureType,
    message: string,
    decision: Partial<ToolCallDetail> = {},
  ): CallUpdate[] {
    const { stage } = this;
    if (stage >= ToolCallStage.SUCCEEDED) return [];
    const before = stage === ToolCallStage.UNSPECIFIED ? this.pending() : [];
    const value = toolFailure(type, message, this.described.exitCode);
    const call = {
      ...this.#call(ToolCallStatus.FAILED),
      result: { case: "error" as const, value },
    };
    return [
      ...before,
      {
        call,
        detail: this.#detail({ ...decision, stage: ToolCallStage.FAILED }),
      },
    ];
  }

  /** The version of a call whose question the agent withdrew. */
  cancelled(): CallUpdate[] {
    const recorded = findToolCall(this.#task(), this.id);
    if (!recorded || isEnded(recorded)) return [];
    const { confirmationRequest: _closed, ...call } = recorded;
    return [{ call: { ...call, status: ToolCallStatus.CANCELLED } }];
  }

  /**
   * The version of a call that the user approved, and that the agent, which was
   * started again since, did not make again.
   */
  outdated(): CallUpdate[] {
    const recorded = findToolCall(this.#task(), this.id);
    if (!recorded || this.stage !== ToolCallStage.SCHEDULED) return [];
    const { confirmationRequest: _answered, ...call } = recorded;
    const value = toolFailure(
      "approval_outdated",
      "the agent did not make the call again: it did not run",
    );
    const result = { case: "error" as const, value };
    return [{ call: { ...call, status: ToolCallStatus.FAILED, result } }];
  }

  /**
   * The version of a call that asks the user; none for a call that can no
   * longer ask.
   */
  asking(options: ConfirmationRequest["options"]): CallUpdate[] {
    if (this.stage > ToolCallStage.AWAITING_APPROVAL) return [];
    const confirmationRequest = create(ConfirmationRequestSchema, {
      options,
      details: this.described.details,
    });
    const detail = this.#detail({
      stage: ToolCallStage.AWAITING_APPROVAL,
      digest: this.digest(options),
    });
    return [
      {
        call: {
          ...this.#call(ToolCallStatus.PENDING),
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
    questionId: string,
    options: ConfirmationRequest["options"],
  ): CallUpdate {
    const confirmationRequest = create(ConfirmationRequestSchema, {
      options,
      details: this.described.details,
    });
    const call = {
      ...this.#call(ToolCallStatus.PENDING),
      toolCallId: questionId,
      confirmationRequest,
    };
    return {
      call,
      detail: changedDetail(undefined, {
        parentToolCallId: this.id,
        digest: this.digest(options),
      }),
    };
  }

  /**
   * The versions that end a question which is a call of its own, after its
   * answer.
   */
  endQuestion(): CallUpdate[] {
    const recorded = findToolCall(this.#task(), this.id);
    if (!recorded || this.stage !== ToolCallStage.SCHEDULED) return [];
    const { confirmationRequest: _answered, ...call } = recorded;
    return [
      { call: { ...call, status: ToolCallStatus.EXECUTING } },
      { call: { ...call, status: ToolCallStatus.SUCCEEDED } },
    ];
  }

  /**
   * SHA-256 of what the user is asked to approve, and of the answers: an answer
   * is valid only for a call with the same one.
   */
  digest(options: ConfirmationRequest["options"]): Uint8Array {
    const {
      toolName,
      inputParameters,
      description = "",
    } = this.#call(ToolCallStatus.PENDING);
    const request = create(ConfirmationRequestSchema, {
      options,
      details: this.described.details,
    });
    const shown = [
      toolName,
      description,
      inputParameters ?? {},
      toJson(ConfirmationRequestSchema, request),
    ];
    return createHash("sha256").update(canonicalJson(shown)).digest();
  }

  #detail(change: Partial<ToolCallDetail>): ToolCallDetail {
    return changedDetail(findToolCallDetail(this.#task(), this.id), change);
  }

  #call(status: ToolCallStatus): ToolCall {
    const { toolName, description, input } = this.described;
    return create(
      ToolCallSchema,
      defined({
        toolCallId: this.id,
        toolName,
        status,
        description: description || undefined,
        inputParameters: structFromJson(input),
      }),
    );
  }
}
