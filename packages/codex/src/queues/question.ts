import {
  type ConfirmationOption,
  type ConfirmationRequest,
  OPTION_CANCEL,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ONCE,
} from "@devtool/schema";
import { ReviewDecision, type Submission } from "@devtool/schema/codex";

/** The operations that answer a question. */
export type AnswerOp = Extract<
  Submission["op"],
  { case: "execApproval" | "patchApproval" | "userInputAnswer" }
>;

/** The option that each decision chooses. Agents offer these ids. */
export const OPTIONS: readonly (readonly [ReviewDecision, string])[] = [
  [ReviewDecision.APPROVED, OPTION_PROCEED_ONCE],
  [ReviewDecision.APPROVED_FOR_SESSION, OPTION_PROCEED_ALWAYS],
  [ReviewDecision.DENIED, "reject"],
  [ReviewDecision.ABORT, OPTION_CANCEL],
];

/** Returns the operation that answers a question. */
export function answerTo({ details }: ConfirmationRequest): AnswerOp["case"] {
  if (details.case === "executeDetails") return "execApproval";
  return details.case === "fileEditDetails"
    ? "patchApproval"
    : "userInputAnswer";
}

/** Returns the decisions that a question accepts, each with its option. */
export function decisionsOf({
  options,
}: ConfirmationRequest): (readonly [ReviewDecision, ConfirmationOption])[] {
  return OPTIONS.flatMap(([decision, id]) => {
    const option = options.find((one) => one.id === id);
    return option ? [[decision, option] as const] : [];
  });
}
