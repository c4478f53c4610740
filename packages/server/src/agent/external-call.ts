import { createHash } from "node:crypto";
import { create, equals, toJson } from "@bufbuild/protobuf";
import { canonicalJson, defined } from "@devtool/internal/json";
import {
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  stageOf,
  type ToolCall,
  type ToolCallDetail,
  ToolCallSchema,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import { type CallUpdate, changedDetail } from "./call-update.ts";
import { toolFailure } from "./failure.ts";

/** How a call ends. */
export interface CallEnd {
  readonly status:
    | ToolCallStatus.SUCCEEDED
    | ToolCallStatus.FAILED
    | ToolCallStatus.CANCELLED;
  readonly result: ToolCall["result"];
}

/** The end of a call that only asked. */
export const ANSWERED: CallEnd = {
  status: ToolCallStatus.SUCCEEDED,
  result: { case: undefined },
};

/** The end of a call that was declined or withdrawn. */
export const CANCELLED: CallEnd = {
  status: ToolCallStatus.CANCELLED,
  result: { case: undefined },
};

/** Returns the end of a call that failed. */
export function failedCall(
  ...failure: Parameters<typeof toolFailure>
): CallEnd {
  const result = { case: "error" as const, value: toolFailure(...failure) };
  return { status: ToolCallStatus.FAILED, result };
}

/** Where an `ExternalCall` is read from, at each use of it. */
export interface ExternalCallSource {
  /** Returns the call as its program describes it now. */
  readonly described: () => ToolCall;
  /** Returns its last version. Undefined for a call that is not recorded. */
  readonly recorded: () => CallUpdate | undefined;
}

/**
 * A call that another program runs and reports, as an agent of ACP or Codex
 * does.
 *
 * Each method returns the versions that bring the call to a stage: several when
 * it lacks earlier stages, none when it cannot reach it. It executes before it
 * succeeds, does not execute while its user is asked, and stays as it ended,
 * whatever the program reports.
 */
export class ExternalCall {
  readonly #source: ExternalCallSource;

  constructor(source: ExternalCallSource) {
    this.#source = source;
  }

  /** The recorded stage; unspecified for a call that is not recorded. */
  get stage(): ToolCallStage {
    const recorded = this.#source.recorded();
    if (!recorded) return ToolCallStage.UNSPECIFIED;
    return recorded.detail?.stage ?? stageOf(recorded.call);
  }

  /**
   * The version of a call that the program has announced.
   *
   * @param parent the id of the running call that asks by this one
   */
  announced(parent?: string): CallUpdate[] {
    if (this.stage > ToolCallStage.VALIDATING) return [];
    const stage = ToolCallStage.VALIDATING;
    return [this.#waiting({ stage }, parent)];
  }

  /** The version of a call that a rule allows, and why, for the audit log. */
  allowed(rule: string, reason: string): CallUpdate[] {
    if (this.stage > ToolCallStage.VALIDATING) return [];
    return [this.#waiting({ stage: ToolCallStage.SCHEDULED, rule, reason })];
  }

  /** The version of a call that asks its user. */
  asking(request: ConfirmationRequest, parent?: string): CallUpdate[] {
    if (this.stage > ToolCallStage.AWAITING_APPROVAL) return [];
    const { call, detail } = this.#waiting(
      {
        stage: ToolCallStage.AWAITING_APPROVAL,
        digest: this.digest(request),
      },
      parent,
    );
    return [{ call: { ...call, confirmationRequest: request }, detail }];
  }

  /**
   * The version of a question about the call that is a call of its own, since
   * the call itself cannot wait again.
   */
  askingApart(toolCallId: string, request: ConfirmationRequest): CallUpdate[] {
    const about = this.#source.described();
    const question = new ExternalCall({
      described: () => ({ ...about, toolCallId }),
      recorded: () => undefined,
    });
    return question.asking(request, about.toolCallId);
  }

  /**
   * The versions of a call that runs, with its output so far. A call about
   * which nobody was asked was the program's own decision.
   */
  executing(liveContent = ""): CallUpdate[] {
    const before = this.allowed("agent", "the agent did not ask");
    const stage = before.length > 0 ? ToolCallStage.SCHEDULED : this.stage;
    if (
      stage !== ToolCallStage.SCHEDULED &&
      stage !== ToolCallStage.EXECUTING
    ) {
      return [];
    }
    const live = liveContent === "" ? {} : { liveContent };
    const call = { ...this.#call(ToolCallStatus.EXECUTING), ...live };
    const recorded = this.#source.recorded()?.call;
    const isKnown = recorded && equals(ToolCallSchema, recorded, call);
    return isKnown ? [] : [...before, { call }];
  }

  /**
   * The versions of a call that ended.
   *
   * @param decision who decided that it may not run, if somebody did
   */
  ended(end: CallEnd, decision?: Partial<ToolCallDetail>): CallUpdate[] {
    const { stage } = this;
    if (stage >= ToolCallStage.SUCCEEDED) return [];
    if (end.status === ToolCallStatus.SUCCEEDED) return this.#succeeded(end);
    const before = stage === ToolCallStage.UNSPECIFIED ? this.announced() : [];
    const call = { ...this.#call(end.status), result: end.result };
    const detail =
      decision && this.#detail({ ...decision, stage: stageOf(call) });
    return [...before, { call, detail }];
  }

  /**
   * SHA-256 of what the user is asked to approve, with the answers that are
   * offered: an answer is valid only for a call with the same one.
   */
  digest(request: ConfirmationRequest): Uint8Array {
    const {
      toolName,
      description = "",
      inputParameters = {},
    } = this.#source.described();
    const shown = toJson(ConfirmationRequestSchema, request);
    return createHash("sha256")
      .update(canonicalJson([toolName, description, inputParameters, shown]))
      .digest();
  }

  #succeeded({ status, result }: CallEnd): CallUpdate[] {
    const { stage } = this;
    if (stage === ToolCallStage.AWAITING_APPROVAL) {
      const early = "the agent ran the call without waiting for the answer";
      return this.ended(failedCall("execution_failed", early));
    }
    const before = stage === ToolCallStage.EXECUTING ? [] : this.executing();
    return [...before, { call: { ...this.#call(status), result } }];
  }

  #waiting(change: Partial<ToolCallDetail>, parent?: string) {
    const asksFor = parent === undefined ? {} : { parentToolCallId: parent };
    const detail = this.#detail({ ...change, ...asksFor });
    return { call: this.#call(ToolCallStatus.PENDING), detail };
  }

  #detail(change: Partial<ToolCallDetail>): ToolCallDetail {
    return changedDetail(this.#source.recorded()?.detail, change);
  }

  /** The call at a stage, without what only other stages have. */
  #call(status: ToolCallStatus): ToolCall {
    const { toolCallId, toolName, description, inputParameters } =
      this.#source.described();
    return create(
      ToolCallSchema,
      defined({
        toolCallId,
        toolName,
        status,
        description: description || undefined,
        inputParameters,
      }),
    );
  }
}
