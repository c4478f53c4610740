import { create } from "@bufbuild/protobuf";
import {
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  type ToolCallDetail,
  ToolCallStage,
  ToolCallStatus,
  ToolOutputSchema,
} from "@devtool/schema";
import {
  type CallUpdate,
  ExternalCall,
  type ExternalCallSource,
  type FailureType,
  failedCall,
} from "@devtool/server/agent";
import type { DescribedCall } from "./described-call.ts";

/**
 * A call of our task: as the agent has described it so far, and as the log has
 * it.
 */
export class TurnCall extends ExternalCall {
  readonly described: DescribedCall;

  constructor(described: DescribedCall, source: ExternalCallSource) {
    super(source);
    this.described = described;
  }

  /** The id of the call in our task. */
  get id(): string {
    return this.described.id;
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
        return this.stage === ToolCallStage.EXECUTING
          ? this.executing()
          : this.announced();
    }
  }

  /** The versions of a call that runs, with its output so far. */
  override executing(): CallUpdate[] {
    return super.executing(this.described.text);
  }

  /** The versions of a call that succeeded, with its result. */
  succeeded(): CallUpdate[] {
    const value = create(ToolOutputSchema, { result: this.described.result });
    return this.ended({
      status: ToolCallStatus.SUCCEEDED,
      result: { case: "output", value },
    });
  }

  /**
   * The versions of a call that failed.
   *
   * @param decision who decided that it may not run, if somebody did
   */
  failed(
    type: FailureType,
    message: string,
    decision?: Partial<ToolCallDetail>,
  ): CallUpdate[] {
    const end = failedCall(type, message, this.described.exitCode);
    return this.ended(end, decision);
  }

  /** What the user is asked about the call, with these answers. */
  request(options: ConfirmationRequest["options"]): ConfirmationRequest {
    const { details } = this.described;
    return create(ConfirmationRequestSchema, { options, details });
  }
}
